/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of switches, cables and ranks, in addition to the damage that every cable does to
 * frames. */
#include "bed.h"

static void mend(struct bed *bed, void *who, uint32_t argument, struct frame *frame)
{
	(void)bed, (void)argument, (void)frame;
	((struct cable *)who)->is_cut = false;
}

/* Cuts both directions of the cable between a switch and the other end of one of its ports. */
static void cut_for_a_while(struct bed *bed, void *who, uint32_t number, struct frame *frame)
{
	struct node *node = who;
	unsigned port = number % (node->child_count + (node->above ? 1 : 0));
	struct cable *out = &node->out[port];
	struct cable *back = out->arrive == host_receive
	                             ? &bed->host_out[out->port]
	                             : &((struct node *)out->who)->out[out->port];
	uint64_t until = bed->now + bed_below(bed, 4 * bed->set.timeout * FRAME_TIME);

	(void)frame;
	out->is_cut = back->is_cut = true;
	bed_at(bed, until, mend, out, 0, NULL);
	bed_at(bed, until, mend, back, 0, NULL);
}

/* Sends a packet that the format forbids, at the PSN that the switch next expects: it breaks the
 * job. */
static void forge(struct bed *bed, void *who, uint32_t number, struct frame *frame)
{
	static const uint8_t zeros[16];
	struct job *job = who;
	struct rank *rank = &job->ranks[number % job->rank_count];

	(void)frame;
	if (!rank->is_alive || !rank->is_started)
		return;
	/* at any switch that the flow passes */
	struct node *node = bed->host_node[rank->host];
	unsigned to = job->ranks[(rank->index + 1) % job->rank_count].host;
	struct frame *forged = frame_new(bed);
	struct cable *cable = &bed->host_out[rank->host];

	while (bed_chance(bed, 500000)) {
		unsigned port = node->route[to];

		cable = &node->out[port];
		if (cable->arrive == host_receive)
			break;
		node = cable->who;
	}
	if (cable->arrive == host_receive)
		cable = &bed->host_out[rank->host];
	const struct frame_spec spec = {
	        .source = rank->host,
	        .destination = to,
	        .destination_qpn = job_qpn(bed, job),
	        .psn = rank->first_psn + rank->top,
	        .opcode = 4, /* SEND Only */
	        .tos = INA_WIRE_TRAFFIC_CLASS,
	        .payload = zeros,
	        .payload_bytes = sizeof(zeros),
	};
	forged->length = (uint16_t)frame_write(forged->bytes, &spec);
	forged->forged = true;
	bed_at(bed, bed->now + 1, cable->arrive, cable->who, cable->port, forged);
}

static void differ(struct bed *bed, void *who, uint32_t number, struct frame *frame)
{
	struct job *job = who;

	(void)bed, (void)frame;
	job->ranks[number % job->rank_count].differs = true;
}

/* A rank's process ends, so its LEAVE comes too early. */
static void give_up(struct bed *bed, void *who, uint32_t number, struct frame *frame)
{
	struct job *job = who;
	struct rank *rank = &job->ranks[number % job->rank_count];

	(void)frame;
	if (job->generation > 0)
		job_fault(bed, rank);
}

/* The approximate number of frames that go through aggregators in a job without trouble. */
static uint32_t frames_of(const struct bed *bed, const struct job *job)
{
	return job->rank_count * (2 + job->messages * job->packets) * bed->nodes[0].level;
}

/* In some seeds the fault happens during the JOINs, which are few. */
static uint32_t draw_moment(struct bed *bed, const struct job *job)
{
	uint32_t joins = job->rank_count * 3 * bed->nodes[0].level;

	return bed_below(bed, bed_chance(bed, 300000) ? joins : 2 * frames_of(bed, job));
}

/* Faults must happen while packets are under way, so their times are counts of packets. */
void faults_draw(struct bed *bed)
{
	unsigned kinds = bed_below(bed, 3); /* only faults that are noticed; only resets; or any */

	bed->fault_count = bed_chance(bed, 600000) ? 1 : 1 + bed_below(bed, FAULTS_MAX);
	for (unsigned i = 0; i < bed->fault_count; i++) {
		struct job *job = &bed->jobs[bed_below(bed, bed->job_count)];
		struct node *node =
		        &bed->nodes[bed_chance(bed, 300000) ? 0 : bed_below(bed, bed->node_count)];
		unsigned kind = kinds == 0 ? bed_below(bed, 3) : kinds == 1 ? 4 : bed_below(bed, 8);
		struct fault fault = {
		        .frames = draw_moment(bed, job),
		        .act = kind == 0   ? forge
		               : kind == 1 ? differ
		               : kind == 2 ? give_up
		               : kind == 3 ? cut_for_a_while
		                           : node_reset,
		        .who = kind < 3 ? (void *)job : node,
		        .argument = bed_below(bed, HOSTS_MAX),
		};

		bed->faults[i] = fault;
	}
}

void faults_strike(struct bed *bed)
{
	for (unsigned i = 0; i < bed->fault_count; i++)
		if (bed->faults[i].frames == bed->frames)
			bed->faults[i].act(bed, bed->faults[i].who, bed->faults[i].argument, NULL);
}
