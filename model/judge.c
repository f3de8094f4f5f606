/* SPDX-License-Identifier: Apache-2.0 */
/* One function for each group of rows in the table of PSNs. */
#include "judge.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "icrc.h"
#include "wire/ina_wire.h"

/* Suspects since a flow's last packet that evict the flow. */
enum { SUSPECTS_MAX = 4 };

/* A probe of another switch has a distance less than this from INA_WIRE_PROBE_PSN_OFFSET. */
enum { PROBE_REACH = 1 << 14 };

bool judge_open(struct judge *judge, unsigned port, unsigned job_count, struct queue *queues,
                struct jobs *jobs, struct ina_counters *counters)
{
	judge->port = port;
	judge->job_count = job_count;
	judge->quiet = jobs->quiet_ticks;
	judge->flows = calloc(job_count, sizeof(*judge->flows));
	judge->queues = queues;
	judge->jobs = jobs;
	judge->counters = counters;
	return judge->flows != NULL;
}

void judge_close(struct judge *judge)
{
	free(judge->flows);
	judge->flows = NULL;
}

static struct judgement pass(void)
{
	return (struct judgement){.verdict = VERDICT_PASS, .job = -1};
}

static struct judgement discard(uint64_t *counter)
{
	++*counter;
	return (struct judgement){.verdict = VERDICT_DISCARD, .job = -1};
}

/* Breaks a job for something that has come in on this port. */
static void break_job(struct judge *judge, unsigned job, enum report_reason reason)
{
	jobs_break(judge->jobs, job, (struct report_event){.reason = reason, .port = judge->port});
}

static int find_flow(const struct judge *judge, const struct packet *packet)
{
	for (unsigned i = 0; i < judge->job_count; i++) {
		const struct flow *flow = &judge->flows[i];

		if (flow->valid && packet_keys_are_equal(&flow->key, &packet->key))
			return (int)i;
	}
	return -1;
}

/*
 * Returns the judge of the port that knows the packet's flow, or NULL. The judges of all ports
 * are an array.
 */
static struct judge *find_home(struct judge *judge, const struct packet *packet)
{
	struct judge *judges = judge - judge->port;

	for (unsigned port = 0; port < judge->jobs->port_count; port++)
		if (find_flow(&judges[port], packet) >= 0)
			return &judges[port];
	return NULL;
}

/* Returns PSN - next PSN, as a signed number of 24 bits. */
static int32_t psn_distance(uint32_t psn, uint32_t next_psn)
{
	uint32_t difference = (psn - next_psn) & PACKET_PSN_MASK;

	return difference > PACKET_PSN_MASK / 2 ? (int32_t)(difference - (PACKET_PSN_MASK + 1))
	                                        : (int32_t)difference;
}

/* Returns the message header of a packet that starts a message. */
static struct ina_wire_header message_header(const struct packet *packet)
{
	struct ina_wire_header header;

	memcpy(&header, packet->payload, sizeof(header));
	return header;
}

/* Returns whether the packet is a message of `type` (JOIN or LEAVE): a header and a trailer. */
static bool is_control(const struct packet *packet, uint8_t type)
{
	if (packet->wrong_length || packet->opcode != PACKET_SEND_ONLY ||
	    packet->payload_bytes !=
	            sizeof(struct ina_wire_header) + sizeof(struct ina_wire_trailer))
		return false;
	struct ina_wire_header header = message_header(packet);
	return header.magic == INA_WIRE_MAGIC && header.version == INA_WIRE_VERSION &&
	       header.type == type;
}

static struct judgement take(struct judge *judge, unsigned job, struct packet *packet)
{
	struct flow *flow = &judge->flows[job];

	if (packet_asks_for_ack(&packet->header))
		flow->recovers = false;
	if (flow->recovers)
		packet_ask_for_ack(&packet->header);
	queue_push(&judge->queues[job], packet);
	flow->next_psn = (packet->psn + 1) & PACKET_PSN_MASK;
	judge->counters->packets_taken++;
	if (is_control(packet, INA_WIRE_LEAVE) && !jobs_is_complete(&judge->jobs->entries[job]))
		break_job(judge, job, REPORT_EARLY_LEAVE);
	return (struct judgement){.verdict = VERDICT_TAKE, .job = (int)job};
}

static uint16_t tag_of_join(const struct judge *judge, const struct packet_header *header)
{
	const struct jobs *jobs = judge->jobs;

	return header->has_vlan && jobs->trusted >> judge->port & 1
	               ? packet_tag(header)
	               : (uint16_t)(jobs->port_priority[judge->port] << 13);
}

static unsigned rank_of_join(const struct packet *packet)
{
	struct ina_wire_trailer trailer;

	memcpy(&trailer, packet->payload + sizeof(struct ina_wire_header), sizeof(trailer));
	return trailer.rank;
}

static struct judgement admit(struct judge *judge, struct packet *packet)
{
	struct ina_wire_header header = message_header(packet);
	uint16_t tag = tag_of_join(judge, &packet->header);
	int job = jobs_admit(judge->jobs, judge->port, &header, tag);

	if (job == JOBS_HELD)
		return (struct judgement){.verdict = VERDICT_DISCARD, .job = -1};
	if (job == JOBS_REFUSED)
		return pass();
	judge->flows[job] = (struct flow){
	        .valid = true,
	        .key = packet->key,
	        .rank = rank_of_join(packet),
	        .fresh = judge->jobs->patience_ticks,
	};
	jobs_tell(judge->jobs, (unsigned)job,
	          (struct report_event){.kind = REPORT_JOINED, .port = judge->port});
	queue_begin(&judge->queues[job], judge->jobs->entries[job].block);
	return take(judge, (unsigned)job, packet);
}

/* The packet is one that the format forbids, so its job is no longer summed. */
static struct judgement break_and_pass(struct judge *judge, unsigned job)
{
	break_job(judge, job, REPORT_SHORT_PACKET);
	return (struct judgement){.verdict = VERDICT_PASS, .job = (int)job};
}

/*
 * Returns whether the sum of the job's JOINs has gone out to the ranks below. Before that, a live
 * connection sends nothing after its JOIN. If the flow does send something, it was learned from a
 * retransmitted JOIN whose first copy had passed this switch unchanged.
 */
static bool has_join_sum(const struct judge *judge, unsigned job)
{
	return judge->jobs->entries[job].down_count > 0;
}

static struct judgement judge_expected(struct judge *judge, unsigned job, struct packet *packet)
{
	const struct queue *queue = &judge->queues[job];
	const struct job *entry = &judge->jobs->entries[job];

	if (!packet_is_well_formed(packet))
		return break_and_pass(judge, job);
	/*
	 * Happens only after faults: a sum from above comes before this switch has sent its part
	 * up.
	 */
	bool is_early = jobs_is_down(entry, judge->port) && !entry->broken &&
	                queue->tail >= entry->up_count;
	if (is_early || queue_fill(queue) == queue->block.packets)
		return discard(&judge->counters->no_room_dropped);
	if (jobs_is_border(entry, judge->port) && !has_join_sum(judge, job))
		break_job(judge, job, REPORT_LATE_JOIN);
	return take(judge, job, packet);
}

/*
 * The packet is older than the history. If the sum of a border's packet still exists, it is
 * higher up.
 */
static struct judgement judge_old(struct judge *judge, unsigned job)
{
	bool is_border = jobs_is_border(&judge->jobs->entries[job], judge->port);

	judge->counters->duplicates_old++;
	return (struct judgement){
	        .verdict = is_border ? VERDICT_PASS : VERDICT_PROBE,
	        .job = (int)job,
	};
}

/* A duplicate. `distance` is negative: -1 is the packet that was taken last. */
static struct judgement judge_duplicate(struct judge *judge, unsigned job, int32_t distance,
                                        struct packet *packet)
{
	const struct queue *queue = &judge->queues[job];
	const struct job *entry = &judge->jobs->entries[job];
	int64_t sums = (int64_t)jobs_sums_sent(entry, judge->port);
	int64_t ordinal = (int64_t)queue->tail + distance;

	if (ordinal >= sums && entry->broken)
		return pass();
	if (ordinal >= sums)
		return discard(&judge->counters->duplicates_waiting);
	if (ordinal < 0 || ordinal < sums - queue->block.packets)
		return judge_old(judge, job);
	packet_ask_for_ack(&packet->header);
	return (struct judgement){
	        .verdict = VERDICT_RESEND,
	        .job = (int)job,
	        .ordinal = (uint64_t)ordinal,
	};
}

/*
 * A packet past a gap. It may be summed when it is retransmitted, so its own payload must never
 * reach the receiver, however long the network holds the packet back.
 */
static struct judgement judge_ahead(struct judge *judge, unsigned job, const struct packet *packet)
{
	judge->counters->gaps++;
	if (!has_join_sum(judge, job))
		break_job(judge, job, REPORT_LATE_JOIN);
	if (judge->jobs->entries[job].broken)
		return (struct judgement){
		        .verdict = VERDICT_PASS,
		        .job = (int)job,
		        .leaves = is_control(packet, INA_WIRE_LEAVE),
		        .port = judge->port,
		};
	judge->flows[job].recovers = true;
	return (struct judgement){.verdict = VERDICT_PROBE, .job = (int)job};
}

/* No window reaches this distance, so the packet belongs to another connection. */
static bool is_far(const struct judge *judge, unsigned job, int32_t distance)
{
	int32_t window = (int32_t)judge->queues[job].block.packets;

	return distance >= window || distance < -2 * window - 1;
}

/*
 * Returns whether the packet is a probe of another switch, which tells the receiver what it
 * lacks. If only hosts can send to this port, there are no such probes.
 */
static bool is_probe(const struct judge *judge, int32_t distance)
{
	const struct jobs *jobs = judge->jobs;

	return (jobs->level > 1 || jobs_is_uplink(jobs, judge->port)) &&
	       abs(distance - (int32_t)INA_WIRE_PROBE_PSN_OFFSET) < PROBE_REACH;
}

/* A packet that starts a message contains the id of its job. */
static bool is_of_another_job(const struct judge *judge, unsigned job, const struct packet *packet)
{
	uint64_t job_id;

	memcpy(&job_id, packet->payload + offsetof(struct ina_wire_header, job_id), sizeof(job_id));
	return packet_opcode_starts(packet->opcode) && job_id != judge->jobs->entries[job].job_id;
}

/* The flow's silence and the count of its suspects start again. */
static void begin_silence(struct judge *judge, unsigned job, bool contested)
{
	judge->flows[job].suspects = 0;
	judge->flows[job].fresh = judge->jobs->patience_ticks;
	judge->flows[job].contested = contested;
}

/* Counts one more suspect. Returns whether it meets the two conditions of an eviction. */
static bool suspect(struct flow *flow)
{
	if (flow->suspects < SUSPECTS_MAX)
		flow->suspects++;
	return flow->suspects == SUSPECTS_MAX && flow->fresh == 0;
}

static void evict(struct judge *judge, unsigned job, struct judgement *judgement)
{
	break_job(judge, job, REPORT_EVICTED);
	judge->flows[job].valid = false;
	judgement->job = (int)job;
	judgement->leaves = true;
	judgement->port = judge->port;
}

static struct judgement judge_suspect(struct judge *judge, unsigned job)
{
	struct judgement judgement = discard(&judge->counters->suspects_dropped);

	if (suspect(&judge->flows[job]))
		evict(judge, job, &judgement);
	return judgement;
}

/*
 * A packet of a flow of the port `home` has come in by another port. It may belong to the same
 * connection. So the job breaks first, and no sum is under way any more when the flow is evicted.
 */
static struct judgement judge_elsewhere(struct judge *home, const struct packet *packet)
{
	const unsigned job = (unsigned)find_flow(home, packet);
	struct judgement judgement = discard(&home->counters->elsewhere_dropped);

	if (home->jobs->entries[job].quiet > 0 || !suspect(&home->flows[job]))
		return judgement;
	if (home->flows[job].contested) {
		evict(home, job, &judgement);
		return judgement;
	}
	break_job(home, job, REPORT_EVICTED);
	begin_silence(home, job, true);
	judgement.job = (int)job;
	return judgement;
}

/*
 * The flow has sent a packet. Its job counts as not silent if all children have joined; otherwise
 * it might wait forever for one that never joins.
 */
static void hear(struct judge *judge, unsigned job)
{
	struct job *entry = &judge->jobs->entries[job];

	entry->heard |= jobs_is_complete(entry);
	begin_silence(judge, job, false);
}

struct judgement judge_packet(struct judge *judge, struct packet *packet)
{
	if (!packet->marked_request)
		return pass();
	if (judge->quiet > 0 && packet_is_send(packet))
		return discard(&judge->counters->quiet_dropped);
	struct judge *home = find_home(judge, packet);
	if (home && home != judge)
		return judge_elsewhere(home, packet);
	int job = find_flow(judge, packet);
	if (job < 0)
		return packet->candidate && is_control(packet, INA_WIRE_JOIN) &&
		                       icrc_is_right(packet)
		               ? admit(judge, packet)
		               : pass();
	if (judge->jobs->entries[job].quiet > 0)
		return discard(&judge->counters->quiet_dropped);

	int32_t distance = psn_distance(packet->psn, judge->flows[job].next_psn);
	if (!packet->candidate)
		return judge_suspect(judge, (unsigned)job);
	if (!icrc_is_right(packet))
		return discard(&judge->counters->icrc_dropped);
	if (is_probe(judge, distance) && !is_control(packet, INA_WIRE_JOIN))
		return pass();

	/*
	 * If a job broke before the sum of its JOINs went out, its window is what other switches
	 * granted.
	 */
	bool has_window = !judge->jobs->entries[job].broken || has_join_sum(judge, (unsigned)job);
	bool is_too_far = is_far(judge, (unsigned)job, distance);

	if (is_of_another_job(judge, (unsigned)job, packet) || (is_too_far && has_window))
		return judge_suspect(judge, (unsigned)job);
	if (is_too_far)
		return pass();
	hear(judge, (unsigned)job);
	if (distance == 0)
		return judge_expected(judge, (unsigned)job, packet);
	if (distance < 0)
		return judge_duplicate(judge, (unsigned)job, distance, packet);
	return judge_ahead(judge, (unsigned)job, packet);
}

void judge_tick(struct judge *judge)
{
	if (judge->quiet > 0)
		judge->quiet--;
}

void judge_patience(struct judge *judge)
{
	for (unsigned i = 0; i < judge->job_count; i++)
		if (judge->flows[i].fresh > 0)
			judge->flows[i].fresh--;
}

void judge_forget(struct judge *judge, unsigned job)
{
	judge->flows[job].valid = false;
	queue_clear(&judge->queues[job]);
}
