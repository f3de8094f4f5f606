/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that a seed determines: the tree, the jobs, the network, the faults. */
#include <stdlib.h>
#include <string.h>

#include "bed.h"

static uint32_t pick(struct bed *bed, const uint32_t *of, unsigned count)
{
	return of[bed_below(bed, count)];
}

#define PICK(bed, ...)                                                                             \
	pick(bed, (const uint32_t[]){__VA_ARGS__},                                                 \
	     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void add_host(struct bed *bed, struct node *node)
{
	unsigned host = bed->host_count++;

	bed->host_node[host] = node;
	node->children[node->child_count++] = NULL;
}

/* A switch of `level` and all switches below it. At least one child is of the next lower level. */
static struct node *draw_node(struct bed *bed, struct node *above, unsigned level, unsigned hosts)
{
	struct node *node = &bed->nodes[bed->node_count++];
	unsigned children = level == 1 && !above ? 2 + bed_below(bed, 7)
	                                         : 1 + bed_below(bed, hosts > 12 ? 4 : 3);

	if (!above && children < 2)
		children = 2;
	if (engine_size.ports && children > engine_size.ports)
		children = engine_size.ports;
	node->above = above;
	node->level = level;
	node->first_host = bed->host_count;
	for (unsigned i = 0; i < children; i++) {
		bool is_host = level == 1 || (i > 0 && bed_chance(bed, 250000));

		if (bed->host_count + 4 > HOSTS_MAX || bed->node_count + 4 > NODES_MAX)
			is_host = true;
		if (bed->host_count == HOSTS_MAX)
			break;
		if (is_host)
			add_host(bed, node);
		else
			node->children[node->child_count++] = draw_node(
			        bed, node,
			        level - 1 - (i > 0 && level == 3 && bed_chance(bed, 200000)),
			        hosts);
	}
	node->last_host = bed->host_count - 1;
	return node;
}

static unsigned child_of(const struct node *node, unsigned host)
{
	unsigned hosts = node->first_host;

	for (unsigned i = 0; i < node->child_count; i++) {
		unsigned last = node->children[i] ? node->children[i]->last_host : hosts;

		if (host <= last)
			return i;
		hosts = last + 1;
	}
	abort();
}

static bool is_below(const struct node *node, unsigned host)
{
	return host >= node->first_host && host <= node->last_host;
}

static void lay_cables(struct bed *bed)
{
	for (unsigned i = 0; i < bed->node_count; i++) {
		struct node *node = &bed->nodes[i];

		node->first_child_port = node->above && bed_chance(bed, 500000) ? 1 : 0;
		node->up_port = node->first_child_port ? 0 : node->child_count;
	}
	for (unsigned i = 0; i < bed->node_count; i++) {
		struct node *node = &bed->nodes[i];
		unsigned host = node->first_host;
		uint8_t down = (uint8_t)(INA_WIRE_LEVELS + node->level - 1);

		for (unsigned c = 0; c < node->child_count; c++) {
			struct node *child = node->children[c];
			unsigned port = node->first_child_port + c;

			if (child) {
				node->out[port] = (struct cable){.arrive = node_receive,
				                                 .who = child,
				                                 .port = child->up_port,
				                                 .stretch = down};
				child->out[child->up_port] =
				        (struct cable){.arrive = node_receive,
				                       .who = node,
				                       .port = port,
				                       .stretch = (uint8_t)child->level};
				host = child->last_host + 1;
			} else {
				node->out[port] = (struct cable){
				        .arrive = host_receive, .port = host, .stretch = down};
				bed->host_out[host++] = (struct cable){.arrive = node_receive,
				                                       .who = node,
				                                       .port = port,
				                                       .from_host = true};
			}
		}
		for (unsigned to = 0; to < bed->host_count; to++)
			node->route[to] = (uint8_t)(is_below(node, to) ? node->first_child_port +
			                                                         child_of(node, to)
			                                               : node->up_port);
	}
}

static void draw_settings(struct bed *bed)
{
	struct settings *set = &bed->set;
	unsigned levels = bed->nodes[0].level;

	set->window = PICK(bed, 4, 4, 8, 16);
	set->together = bed->seed % 2 ? 1 : engine_size.together;
	set->loss = PICK(bed, 0, 2000, 10000, 30000, 100000);
	set->answer_loss = bed_chance(bed, 200000) ? 500000 : set->loss;
	set->duplicate = PICK(bed, 0, 10000, 50000);
	set->reorder = PICK(bed, 0, 20000, 200000);
	set->damage = PICK(bed, 0, 0, 2000, 20000);
	set->jitter = PICK(bed, 5, 40, 400, 1000);
	set->delay = PICK(bed, 1, 2, 10);
	set->queue = PICK(bed, 3, 8, 64);
	set->timeout = 300;
	set->hold = 2 * levels * (set->queue + set->delay + set->jitter + 2) + 64;
	set->quiet = 3 * set->hold;
	set->time_to_live = 2 * set->hold + PICK(bed, 4, 10) * set->timeout;
	/* Longer than two ACK timeouts and the delay of a retransmission. */
	set->suspicion = 1 + (2 * set->timeout + set->hold) / set->quiet;
	set->patience = 4 * set->quiet + 2 * set->time_to_live + 20 * set->timeout;
	set->reuses_qpn = bed_chance(bed, 200000);
	set->is_clean = bed_chance(bed, 400000);
	/*
	 * A switch of level 2 or 3 receives no packets while a rank below each of its children is
	 * late or loses frames. A job without faults must not expire there.
	 */
	set->above_to_live = set->time_to_live;
	if (set->is_clean && set->above_to_live < LATE_MAX + 20 * set->timeout)
		set->above_to_live = LATE_MAX + 20 * set->timeout;
	set->tells = bed_chance(bed, 500000);
	set->windows_differ = bed_chance(bed, 300000);
	set->is_short = bed_chance(bed, 300000);
}

/* How many children of a switch have ranks of the job? */
static unsigned children_with_ranks(const struct job *job, const struct node *node)
{
	unsigned seen = 0;

	for (unsigned host = node->first_host; host <= node->last_host; host++)
		if (job->rank_of[host] >= 0)
			seen |= 1u << child_of(node, host);
	return (unsigned)__builtin_popcount(seen);
}

static uint32_t place_of(const struct bed *bed, const struct job *job, unsigned host,
                         unsigned successor)
{
	uint32_t place = 0;
	unsigned turn = 0;

	for (const struct node *node = bed->host_node[host]; node; node = node->above) {
		place |= children_with_ranks(job, node) << 8 * (node->level - 1);
		if (turn == 0 && is_below(node, successor))
			turn = node->level;
	}
	return place | turn << 24;
}

static void draw_job(struct bed *bed, struct job *job, unsigned number)
{
	const struct node *focus = bed_chance(bed, 700000)
	                                   ? &bed->nodes[0]
	                                   : &bed->nodes[bed_below(bed, bed->node_count)];
	unsigned members = PICK(bed, 300000, 700000, 1000000, 1000000);

	memset(job->rank_of, -1, sizeof(job->rank_of));
	job->number = number;
	while (job->rank_count < 2) {
		job->rank_count = 0;
		memset(job->rank_of, -1, sizeof(job->rank_of));
		if (focus->last_host == focus->first_host)
			focus = &bed->nodes[0];
		for (unsigned host = focus->first_host; host <= focus->last_host; host++) {
			if (!bed_chance(bed, members))
				continue;
			job->rank_of[host] = (int)job->rank_count;
			job->ranks[job->rank_count].job =
			        job; /* because frames may name it before it begins */
			job->ranks[job->rank_count++].host = host;
		}
		members = 1000000;
	}
	bool one_switch = true;

	for (unsigned i = 0; i < job->rank_count; i++)
		one_switch = one_switch && bed->host_node[job->ranks[i].host] ==
		                                   bed->host_node[job->ranks[0].host];
	bool tells = !one_switch || bed_chance(bed, 500000);

	for (unsigned i = 0; i < job->rank_count; i++)
		job->ranks[i].place = tells ? place_of(bed, job, job->ranks[i].host,
		                                       job->ranks[(i + 1) % job->rank_count].host)
		                            : 0;
	job->packets = PICK(bed, 1, 2, MESSAGE_MAX);
	job->messages = PICK(bed, 3, 6, 12);
	job->window = bed->set.window / job->packets;
	if (bed->set.windows_differ)
		job->window = (MESSAGE_MAX + bed_below(bed, bed->set.window - MESSAGE_MAX + 1)) /
		              job->packets;
	job->generations = 1 + bed_below(bed, 2);
	job->late = PICK(bed, 0, 0, 500, LATE_MAX);
}

/* Copies of JOINs that come after the end of their job take contexts too. */
static unsigned contexts(const struct bed *bed)
{
	return bed->job_count + (bed->set.is_clean ? 8 : 1);
}

/*
 * In some seeds the switches grant different windows. In some seeds the memory may be too small for
 * all jobs together, which then get smaller grants.
 */
static void draw_memory(struct bed *bed, struct aggregator_config *config)
{
	unsigned grain = config->place.level > 1 ? 2 * MESSAGE_MAX : MESSAGE_MAX;

	config->window_packets =
	        grain / MESSAGE_MAX *
	        (bed->set.windows_differ && bed_chance(bed, 500000) ? MESSAGE_MAX
	                                                            : bed->set.window);
	config->grain_packets = grain;
	config->memory_packets = config->jobs * config->window_packets;
	if (bed->set.is_short) {
		unsigned least = PICK(bed, 1, 2) * config->window_packets;

		config->memory_packets = config->jobs * grain;
		if (config->memory_packets < least)
			config->memory_packets = least;
	}
	if (engine_size.memory) {
		config->window_packets = engine_size.window;
		config->grain_packets = engine_size.grain;
		config->memory_packets = engine_size.memory;
	}
}

static void draw_switches(struct bed *bed)
{
	for (unsigned i = 0; i < bed->node_count; i++) {
		struct node *node = &bed->nodes[i];
		unsigned used = node->child_count + (node->above ? 1 : 0);
		unsigned ports = engine_size.ports ? engine_size.ports : used;

		node->config = (struct aggregator_config){
		        .ports = ports < 2 ? 2 : ports,
		        .jobs = engine_size.jobs ? engine_size.jobs : contexts(bed),
		        .mtu_bytes = 256,
		        .has_quiet_time = true,
		        .has_patience = true,
		        .place =
		                {
		                        .level = node->level,
		                        .uplinks = node->above ? 1u << node->up_port : 0,
		                        .id = i + 1,
		                },
		};
		draw_memory(bed, &node->config);
		node_open(bed, node);
		bed_at(bed, bed_below(bed, bed->set.quiet * FRAME_TIME), node_tick, node, 0, NULL);
		bed_at(bed, bed_below(bed, bed->set.time_to_live * FRAME_TIME), node_age, node, 0,
		       NULL);
	}
}

void bed_draw(struct bed *bed, uint64_t seed, bool joins_wait)
{
	struct frame *frames = bed->free_frames;
	struct calendar calendar = {.events = bed->calendar.events, .room = bed->calendar.room};
	bool verbose = bed->verbose, traces = bed->traces;

	memset(bed, 0, sizeof(*bed));
	bed->free_frames = frames;
	bed->calendar = calendar;
	bed->verbose = verbose;
	bed->traces = traces;
	bed->seed = bed->random = seed;
	draw_node(bed, NULL, PICK(bed, 1, 1, 2, 2, 2, 3, 3), PICK(bed, 8, 8, 16));
	lay_cables(bed);
	draw_settings(bed);
	bed->set.data_waits_for_join = joins_wait;
	bed->job_count = bed_chance(bed, 600000) ? 1 : 2 + bed_below(bed, JOBS_MAX - 1);
	if (engine_size.jobs && engine_size.jobs < contexts(bed))
		bed->set.is_clean = false;
	draw_switches(bed);
	/* After the quiet time with which all switches begin. */
	uint64_t start = 2 * (uint64_t)bed->set.quiet * FRAME_TIME;

	for (unsigned i = 0; i < bed->job_count; i++) {
		draw_job(bed, &bed->jobs[i], i);
		bed_at(bed, start + bed_below(bed, 300 * FRAME_TIME), job_begin, &bed->jobs[i], 0,
		       NULL);
	}
	if (!bed->set.is_clean)
		faults_draw(bed);
}

void bed_close(struct bed *bed)
{
	for (unsigned i = 0; i < bed->calendar.count; i++)
		if (bed->calendar.events[i].frame)
			frame_free(bed, bed->calendar.events[i].frame);
	bed->calendar.count = 0;
	for (unsigned i = 0; i < bed->node_count; i++)
		node_close(&bed->nodes[i]);
}

void bed_free(struct bed *bed)
{
	while (bed->free_frames) {
		struct frame *frame = bed->free_frames;

		bed->free_frames = frame->next_free;
		free(frame);
	}
	free(bed->calendar.events);
}
