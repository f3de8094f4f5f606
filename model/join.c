/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions: UP sums the children's packets, and DOWN hands out the sum from above. Further
 * ones are a raw packet of a broken job, and a resend. At the top of a job, UP hands out its sum
 * immediately.
 */
#include "join.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "wire/ina_wire.h"
#include "heads.h"
#include "rebuild.h"

static struct queue *queue_of(const struct join *join, unsigned port, unsigned job)
{
	return &join->judges[port].queues[job];
}

/* Sends the payload in the output after the header of a waiting packet, and marks it if it may. */
static void send_marked(struct join *join, unsigned port, const struct queue_slot *slot,
                        bool marked)
{
	bool mark = marked && rebuild_may_be_marked(&slot->header);

	output_send(join->output, port, &slot->header, mark);
	join->counters->ecn_marked += mark;
}

static void forget_flows(struct join *join, unsigned job)
{
	const struct job *entry = &join->jobs->entries[job];

	for (unsigned port = 0; port < join->port_count; port++)
		if (jobs_has_child(entry, port) || jobs_is_down(entry, port))
			judge_forget(&join->judges[port], job);
}

/* True: it was the last LEAVE, and the job was freed. The LEAVE of a down flow frees nothing. */
static bool leave(struct join *join, unsigned job, unsigned port)
{
	if (!jobs_has_child(&join->jobs->entries[job], port) || !jobs_leave(join->jobs, job, port))
		return false;
	forget_flows(join, job);
	return true;
}

static void leave_all(struct join *join, unsigned job)
{
	const struct job *entry = &join->jobs->entries[job];

	for (unsigned port = 0; port < join->port_count && entry->valid; port++)
		leave(join, job, port);
}

/* Finds the packets that UP would sum next. False: one is missing, or the job is not summed. */
static bool find_heads(const struct join *join, unsigned job, struct heads *heads)
{
	const struct job *entry = &join->jobs->entries[job];

	*heads = (struct heads){0};
	if (!entry->valid || entry->broken || !jobs_is_complete(entry))
		return false;
	for (unsigned port = 0; port < join->port_count; port++) {
		const struct queue *queue = queue_of(join, port, job);

		if (!jobs_has_child(entry, port))
			continue;
		if (queue->tail <= entry->up_count)
			return false;
		heads->slots[port] = queue_at(queue, entry->up_count);
	}
	return true;
}

/*
 * A switch below was reset, or broke the job: one rank's LEAVE has passed it in place of the part.
 * A rank there may still wait for sums.
 */
static bool leave_lacks_ranks(const uint8_t *payload)
{
	struct ina_wire_header header;
	struct ina_wire_trailer trailer;

	memcpy(&header, payload, sizeof(header));
	memcpy(&trailer, payload + sizeof(header), sizeof(trailer));
	return trailer.contributors != header.rank_count;
}

/* Packets that a rank has sent after its LEAVE are lost. */
static void break_after_leave(struct join *join, unsigned job)
{
	jobs_break(join->jobs, job,
	           (struct report_event){.reason = REPORT_LACKS_LEAVE, .port = REPORT_NO_PORT});
	for (unsigned port = 0; port < join->port_count; port++)
		while (queue_fill(queue_of(join, port, job)) > 0)
			queue_pop(queue_of(join, port, job));
}

/*
 * Hands out the sum of all ranks: in each waiting packet except the border's, and in the down
 * flow's.
 */
static void hand_out(struct join *join, unsigned job, bool marked, bool leaves)
{
	struct job *entry = &join->jobs->entries[job];

	for (unsigned port = 0; port < join->port_count; port++) {
		if (jobs_is_border(entry, port) ||
		    !(jobs_has_child(entry, port) || jobs_is_down(entry, port)))
			continue;
		struct queue *queue = queue_of(join, port, job);

		send_marked(join, port, queue_at(queue, entry->down_count), marked);
		queue_pop(queue);
	}
	entry->down_count++;
	if (leaves && leave_lacks_ranks(output_payload(join->output)))
		break_after_leave(join, job);
	if (leaves)
		leave_all(join, job);
}

static void up(struct join *join, unsigned job, const struct heads *heads)
{
	struct job *entry = &join->jobs->entries[job];
	const struct queue_slot *first = heads_first(heads);
	uint8_t *sum = output_payload(join->output);

	const struct report_event mismatch = heads_mismatch(heads, entry, &join->lacks);

	if (mismatch.reason != REPORT_NONE) {
		jobs_break(join->jobs, job, mismatch);
		return;
	}
	bool marked = heads_are_marked(heads);
	entry->congested |= marked;
	if (heads_sum(heads, entry, join->tree, sum))
		jobs_have_asked(join->jobs);
	output_seal(join->output, first->payload_bytes);
	history_write(entry->has_border ? join->parts : join->sums, entry->block, entry->up_count,
	              sum, first->payload_bytes);
	join->counters->packets_joined += entry->child_count;
	join->counters->bytes_joined += entry->child_count * first->payload_bytes;
	entry->up_count++;
	if (!entry->has_border) {
		hand_out(join, job, marked, queue_slot_is_control(first, INA_WIRE_LEAVE));
		return;
	}
	send_marked(join, entry->border, heads->slots[entry->border], marked);
	queue_pop(queue_of(join, entry->border, job));
}

/* Returns whether the packet from above may leave with the headers that wait for it. */
static bool fits(const struct join *join, unsigned job, const struct queue_slot *from_above)
{
	const struct job *entry = &join->jobs->entries[job];

	for (unsigned port = 0; port < join->port_count; port++)
		if (jobs_has_child(entry, port) && !jobs_is_border(entry, port) &&
		    !heads_are_of_one_kind(queue_at(queue_of(join, port, job), entry->down_count),
		                           from_above))
			return false;
	return heads_fit_part(from_above,
	                      history_read(join->parts, entry->block, entry->down_count));
}

static bool may_go_down(const struct join *join, unsigned job)
{
	const struct job *entry = &join->jobs->entries[job];

	return entry->valid && !entry->broken && entry->has_down &&
	       queue_fill(queue_of(join, entry->down, job)) > 0 &&
	       entry->down_count < entry->up_count;
}

static void down(struct join *join, unsigned job)
{
	struct job *entry = &join->jobs->entries[job];
	const struct queue_slot *slot =
	        queue_at(queue_of(join, entry->down, job), entry->down_count);
	const bool marked = rebuild_is_marked(&slot->header);

	if (!fits(join, job, slot)) {
		jobs_break(join->jobs, job,
		           (struct report_event){.reason = REPORT_FROM_ABOVE, .port = entry->down});
		return;
	}
	entry->congested |= marked;
	output_copy(join->output, slot->payload.bytes, slot->payload_bytes);
	history_write(join->sums, entry->block, entry->down_count, slot->payload.bytes,
	              slot->payload_bytes);
	hand_out(join, job, marked, queue_slot_is_control(slot, INA_WIRE_LEAVE));
}

/* Sends the waiting packets of one port of a broken job, with their own payload. */
static void send_raw(struct join *join, unsigned job, unsigned port)
{
	const struct job *entry = &join->jobs->entries[job];
	struct queue *queue = queue_of(join, port, job);

	if (!jobs_has_child(entry, port) && !jobs_is_down(entry, port))
		return;
	while (queue_fill(queue) > 0) {
		const struct queue_slot *slot = queue_at(queue, queue->head);
		bool leaves = queue_slot_is_control(slot, INA_WIRE_LEAVE);

		output_copy(join->output, slot->payload.bytes, slot->payload_bytes);
		output_send(join->output, port, &slot->header, false);
		join->counters->packets_raw++;
		queue_pop(queue);
		if (leaves && leave(join, job, port))
			return;
	}
}

/* A LEAVE that waits in a queue may free the job before the loop ends. */
static void send_all_raw(struct join *join, unsigned job)
{
	const struct job *entry = &join->jobs->entries[job];

	for (unsigned port = 0; port < join->port_count && entry->valid; port++)
		send_raw(join, job, port);
}

void join_run(struct join *join, unsigned job)
{
	const struct job *entry = &join->jobs->entries[job];
	struct heads heads;

	while (find_heads(join, job, &heads))
		up(join, job, &heads);
	while (may_go_down(join, job))
		down(join, job);
	if (entry->valid && entry->broken)
		send_all_raw(join, job);
}

void join_resend(struct join *join, unsigned port, unsigned job, uint64_t ordinal,
                 const struct packet *packet)
{
	const struct job *entry = &join->jobs->entries[job];
	const struct history_sum *sum = history_read(
	        jobs_is_border(entry, port) ? join->parts : join->sums, entry->block, ordinal);

	if (packet->payload_bytes != sum->payload_bytes) {
		join->counters->answers_differ++;
		return;
	}
	join->counters->duplicates_answered++;
	output_copy(join->output, sum->payload.bytes, sum->payload_bytes);
	output_send(join->output, port, &packet->header, false);
}

void join_expire(struct join *join, unsigned job)
{
	if (join->jobs->entries[job].broken)
		send_all_raw(join, job);
	if (join->jobs->entries[job].valid)
		leave_all(join, job);
}

void join_leave(struct join *join, unsigned job, unsigned port)
{
	/* A LEAVE that waited in the queue may have freed the job. */
	if (join->jobs->entries[job].valid)
		leave(join, job, port);
}

void join_tick(struct join *join, unsigned job)
{
	if (jobs_tick(join->jobs, job))
		forget_flows(join, job);
}

void join_forget(struct join *join, unsigned job)
{
	if (jobs_forget(join->jobs, job))
		forget_flows(join, job);
}
