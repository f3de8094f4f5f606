/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a packet: parse, judge, then pass, discard, join or resend. */
#include "aggregator.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "wire/ina_wire.h"
#include "history.h"
#include "jobs.h"
#include "join.h"
#include "judge.h"
#include "output.h"
#include "packet.h"
#include "queue.h"
#include "trace.h"
#include "tree.h"

/*
 * The time to the next tick may be short, but the next two ticks are at least one interval apart.
 */
enum { TICKS = 2 };

struct aggregator {
	struct aggregator_config config;
	struct ina_counters counters;
	struct memory memory;
	struct jobs jobs;
	struct queue_slot *slots; /* [port][packet in the memory] */
	struct queue *queues;     /* [port][job] */
	struct judge *judges;     /* [port] */
	struct history sums;
	struct history parts; /* only with uplinks */
	struct tree tree;
	struct output output;
	struct join join;
};

static bool is_mtu(unsigned bytes)
{
	return bytes >= 256 && bytes <= PACKET_PAYLOAD_BYTES && (bytes & (bytes - 1)) == 0;
}

/* At least one port must lead down. */
static bool is_place(const struct aggregator_place *place, unsigned ports)
{
	uint32_t all = UINT32_MAX >> (AGGREGATOR_PORTS_MAX - ports);

	return place->level <= INA_WIRE_LEVELS && (place->uplinks & ~all) == 0 &&
	       place->uplinks != all;
}

static bool is_power_of_two(unsigned number)
{
	return number > 0 && (number & (number - 1)) == 0;
}

static bool is_memory(const struct aggregator_config *config)
{
	return is_power_of_two(config->window_packets) && config->window_packets >= 2 &&
	       config->window_packets <= AGGREGATOR_WINDOW_MAX &&
	       is_power_of_two(config->grain_packets) &&
	       config->grain_packets >= (config->place.level > 1 ? 2 : 1) &&
	       config->grain_packets <= config->window_packets &&
	       config->memory_packets >= config->window_packets &&
	       config->memory_packets <= AGGREGATOR_MEMORY_MAX &&
	       config->memory_packets % config->grain_packets == 0 &&
	       config->memory_packets / config->grain_packets >= config->jobs;
}

static bool is_valid(const struct aggregator_config *config)
{
	return config->ports >= 2 && config->ports <= AGGREGATOR_PORTS_MAX && config->jobs >= 1 &&
	       config->jobs <= AGGREGATOR_JOBS_MAX && is_memory(config) &&
	       is_mtu(config->mtu_bytes) && is_place(&config->place, config->ports);
}

/* Replaces zeros by the defaults. */
static struct aggregator_config filled_in(const struct aggregator_config *config)
{
	struct aggregator_config full = *config;

	if (!full.memory_packets)
		full.memory_packets = full.jobs * full.window_packets;
	if (!full.grain_packets)
		full.grain_packets = full.place.level > 1 ? 2 : 1;
	if (!full.quota || full.quota >= full.jobs)
		full.quota = full.jobs > 1 ? full.jobs - 1 : 1;
	if (!full.vlan_quota)
		full.vlan_quota = full.jobs;
	if (!full.mtu_bytes)
		full.mtu_bytes = PACKET_PAYLOAD_BYTES;
	if (!full.place.level)
		full.place.level = 1;
	return full;
}

/*
 * Returns the packets of the largest block of a job. If ports or VLANs have a quota of contexts,
 * the memory has a quota too: no context gets more than its share.
 */
static unsigned block_most(const struct aggregator_config *config)
{
	unsigned most = config->window_packets;

	if (config->quota + 1 >= config->jobs && config->vlan_quota >= config->jobs)
		return most;
	while (most > config->grain_packets && most > config->memory_packets / config->jobs)
		most /= 2;
	return most;
}

static bool open_parts(struct aggregator *aggregator)
{
	const struct aggregator_config *config = &aggregator->config;

	const struct jobs jobs = {
	        .memory = &aggregator->memory,
	        .job_count = config->jobs,
	        .quota = config->quota,
	        .vlan_quota = config->vlan_quota,
	        .port_priority = config->port_priority,
	        .trusted = config->trusted_ports,
	        .port_count = config->ports,
	        .level = config->place.level,
	        .uplinks = config->place.uplinks,
	        .quiet_ticks = config->has_quiet_time ? TICKS : 0,
	        .patience_ticks = config->has_patience ? TICKS : 0,
	        .counters = &aggregator->counters,
	        .tell = config->tell,
	        .tell_context = config->tell_context,
	};

	if (!memory_open(&aggregator->memory, config->jobs, config->memory_packets,
	                 block_most(config), config->grain_packets) ||
	    !jobs_open(&aggregator->jobs, &jobs) || !tree_open(&aggregator->tree, config->ports) ||
	    !history_open(&aggregator->sums, config->memory_packets) ||
	    (config->place.uplinks && !history_open(&aggregator->parts, config->memory_packets)))
		return false;
	for (unsigned i = 0; i < config->ports * config->jobs; i++)
		aggregator->queues[i].slots =
		        &aggregator->slots[(size_t)(i / config->jobs) * config->memory_packets];
	for (unsigned port = 0; port < config->ports; port++)
		if (!judge_open(&aggregator->judges[port], port, config->jobs,
		                &aggregator->queues[port * config->jobs], &aggregator->jobs,
		                &aggregator->counters))
			return false;
	return true;
}

struct aggregator *aggregator_open(const struct aggregator_config *config, aggregator_emit *emit,
                                   void *context)
{
	struct aggregator_config full = filled_in(config);

	if (!is_valid(&full)) {
		errno = EINVAL;
		return NULL;
	}
	struct aggregator *aggregator = calloc(1, sizeof(*aggregator));
	if (!aggregator)
		return NULL;
	aggregator->config = full;
	aggregator->slots =
	        calloc((size_t)full.ports * full.memory_packets, sizeof(*aggregator->slots));
	aggregator->queues = calloc(config->ports * config->jobs, sizeof(*aggregator->queues));
	aggregator->judges = calloc(config->ports, sizeof(*aggregator->judges));
	if (!aggregator->slots || !aggregator->queues || !aggregator->judges ||
	    !open_parts(aggregator)) {
		aggregator_close(aggregator);
		errno = ENOMEM;
		return NULL;
	}
	aggregator->output.emit = emit;
	aggregator->output.context = context;
	aggregator->join = (struct join){
	        .port_count = config->ports,
	        .lacks = config->lacks,
	        .jobs = &aggregator->jobs,
	        .judges = aggregator->judges,
	        .sums = &aggregator->sums,
	        .parts = &aggregator->parts,
	        .tree = &aggregator->tree,
	        .counters = &aggregator->counters,
	        .output = &aggregator->output,
	};
	return aggregator;
}

void aggregator_close(struct aggregator *aggregator)
{
	if (!aggregator)
		return;
	const struct aggregator_config *config = &aggregator->config;

	for (unsigned port = 0; aggregator->judges && port < config->ports; port++)
		judge_close(&aggregator->judges[port]);
	history_close(&aggregator->sums);
	history_close(&aggregator->parts);
	tree_close(&aggregator->tree);
	jobs_close(&aggregator->jobs);
	memory_close(&aggregator->memory);
	free(aggregator->judges);
	free(aggregator->queues);
	free(aggregator->slots);
	free(aggregator);
}

/* Sends a frame on unchanged. If it is a TRACE from below, fills this switch's slot. */
static void pass(struct aggregator *aggregator, unsigned port, const struct packet *packet)
{
	struct output *output = &aggregator->output;
	const struct aggregator_place *place = &aggregator->config.place;

	aggregator->counters.frames_passed++;
	if (place->id && !jobs_is_uplink(&aggregator->jobs, port) &&
	    trace_has_room(packet, place->level)) {
		const struct ina_wire_trace_slot slot = {
		        .id = place->id, .port = port, .jobs = jobs_count(&aggregator->jobs)};

		trace_fill(output_payload(output), packet, place->level, &slot);
		output_seal(output, packet->payload_bytes);
		output_send(output, port, &packet->header, false);
	} else {
		output->emit(output->context, port, packet->frame, packet->length_bytes);
	}
}

void aggregator_put(struct aggregator *aggregator, unsigned port, const uint8_t *frame,
                    size_t length)
{
	struct join *join = &aggregator->join;
	struct packet packet;

	assert(port < aggregator->config.ports);
	aggregator->counters.frames_in++;
	packet_parse(&packet, frame, length);
	if (packet.payload_bytes > aggregator->config.mtu_bytes)
		packet.candidate = false;
	struct judgement judgement = judge_packet(&aggregator->judges[port], &packet);
	if (judgement.verdict == VERDICT_PASS && length <= AGGREGATOR_FRAME_MAX) {
		pass(aggregator, port, &packet);
	} else if (judgement.verdict == VERDICT_RESEND) {
		join_resend(join, port, (unsigned)judgement.job, judgement.ordinal, &packet);
	} else if (judgement.verdict == VERDICT_PROBE) {
		output_probe(&aggregator->output, port, &packet);
	}
	if (judgement.job >= 0)
		join_run(join, (unsigned)judgement.job);
	if (judgement.leaves)
		join_leave(join, (unsigned)judgement.job, judgement.port);
}

void aggregator_age(struct aggregator *aggregator)
{
	for (unsigned job = 0; job < aggregator->config.jobs; job++)
		if (jobs_age(&aggregator->jobs, job))
			join_expire(&aggregator->join, job);
}

void aggregator_tick(struct aggregator *aggregator)
{
	for (unsigned port = 0; port < aggregator->config.ports; port++)
		judge_tick(&aggregator->judges[port]);
	for (unsigned job = 0; job < aggregator->config.jobs; job++)
		join_tick(&aggregator->join, job);
}

void aggregator_patience(struct aggregator *aggregator)
{
	for (unsigned port = 0; port < aggregator->config.ports; port++)
		judge_patience(&aggregator->judges[port]);
}

static struct report_member read_member(const struct aggregator *aggregator, unsigned index,
                                        unsigned port)
{
	const struct job *job = &aggregator->jobs.entries[index];
	const struct judge *judge = &aggregator->judges[port];
	const uint64_t summed = jobs_is_down(job, port) ? job->down_count : job->up_count;
	struct report_member member = {
	        .is_down = jobs_is_down(job, port),
	        .joined = jobs_has_child(job, port) || jobs_is_down(job, port),
	        .left = job->left >> port & 1,
	};

	if (member.joined && judge->flows[index].valid) {
		member.rank = judge->flows[index].rank;
		member.key = judge->flows[index].key;
		member.waiting_packets = judge->queues[index].tail > summed
		                                 ? (unsigned)(judge->queues[index].tail - summed)
		                                 : 0;
	}
	return member;
}

bool aggregator_read_job(const struct aggregator *aggregator, unsigned index,
                         struct report_job *report)
{
	const struct job *job = &aggregator->jobs.entries[index];

	assert(index < aggregator->config.jobs);
	if (!job->valid)
		return false;
	*report = (struct report_job){
	        .job_id = job->job_id,
	        .is_broken = job->broken,
	        .is_ending = job->quiet > 0,
	        .rank_count = job->rank_count,
	        .child_count = job->child_count,
	        .joined_count = job->attached,
	        .window_packets = job->window_packets,
	        .block_packets = job->block.packets,
	        .tag = job->tag,
	        .packets = job->up_count,
	        .above_packets = job->up_count - job->down_count,
	};
	for (unsigned port = 0; port < aggregator->config.ports; port++)
		report->members[port] = read_member(aggregator, index, port);
	return true;
}

bool aggregator_forget(struct aggregator *aggregator, uint64_t job_id)
{
	for (unsigned job = 0; job < aggregator->config.jobs; job++) {
		const struct job *entry = &aggregator->jobs.entries[job];

		if (!entry->valid || entry->job_id != job_id)
			continue;
		join_forget(&aggregator->join, job);
		return true;
	}
	return false;
}

const struct ina_counters *aggregator_counters(const struct aggregator *aggregator)
{
	return &aggregator->counters;
}
