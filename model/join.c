/* SPDX-License-Identifier: Apache-2.0 */
/* Three transactions: a join of all ranks, a raw packet of a broken job, a resend. */
#include "join.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "wire/ina_wire.h"
#include "rebuild.h"

/* The first lanes of a message header, which must be equal in all ranks' messages. */
enum { EQUAL_BYTES = offsetof(struct ina_wire_header, exponent) };

static bool has_port(const struct job *job, unsigned port)
{
	return job->port_mask >> port & 1;
}

static const struct queue_slot *front(const struct join *join, unsigned port, unsigned job)
{
	return queue_front(&join->judges[port].queues[job]);
}

static void send_frame(struct join *join, unsigned port, const struct packet_header *header,
                       unsigned payload_bytes, bool mark)
{
	uint8_t *payload = join->frame + PACKET_HEADER_BYTES_MAX;
	unsigned length = rebuild_frame(payload, header, payload_bytes, mark);

	join->emit(join->emit_context, port, payload - header->length_bytes, length);
}

static bool may_join(const struct join *join, unsigned job)
{
	const struct job *entry = &join->jobs->entries[job];

	if (!entry->valid || entry->broken || !jobs_is_complete(entry))
		return false;
	for (unsigned port = 0; port < join->port_count; port++)
		if (has_port(entry, port) && queue_fill(&join->judges[port].queues[job]) == 0)
			return false;
	return true;
}

static bool has_type(const struct aggregator_lack *lacks, uint8_t type)
{
	switch (type) {
	case INA_WIRE_INT32:
		return !lacks->int32;
	case INA_WIRE_FLOAT32:
		return true;
	case INA_WIRE_BFLOAT16:
	case INA_WIRE_FLOAT16:
		return !lacks->half_formats;
	default:
		return false;
	}
}

static bool has_operation(const struct aggregator_lack *lacks, uint8_t operation)
{
	switch (operation) {
	case INA_WIRE_SUM:
		return true;
	case INA_WIRE_MAX:
	case INA_WIRE_MIN:
		return !lacks->max_min;
	default:
		return false;
	}
}

/* A message that can be summed, or a JOIN or LEAVE. */
static bool is_known(const struct aggregator_lack *lacks, const struct queue_slot *slot)
{
	struct ina_wire_header header;

	memcpy(&header, slot->payload.bytes, sizeof(header));
	if (header.type == INA_WIRE_DATA)
		return header.magic == INA_WIRE_MAGIC && header.version == INA_WIRE_VERSION &&
		       has_type(lacks, header.number_type) &&
		       has_operation(lacks, header.operation);
	return queue_slot_is_control(slot, INA_WIRE_JOIN) ||
	       queue_slot_is_control(slot, INA_WIRE_LEAVE);
}

static bool is_alike(const struct queue_slot *a, const struct queue_slot *b)
{
	return a->opcode == b->opcode && a->payload_bytes == b->payload_bytes &&
	       (!packet_opcode_starts(a->opcode) ||
	        memcmp(a->payload.bytes, b->payload.bytes, EQUAL_BYTES) == 0);
}

/* May what waits at the heads be summed? `first` is the head of the lowest port. */
static bool heads_match(const struct join *join, unsigned job, const struct queue_slot *first)
{
	const struct job *entry = &join->jobs->entries[job];
	bool starts = packet_opcode_starts(first->opcode);

	if (starts == entry->in_message || (starts && !is_known(&join->lacks, first)))
		return false;
	for (unsigned port = 0; port < join->port_count; port++)
		if (has_port(entry, port) && !is_alike(first, front(join, port, job)))
			return false;
	return true;
}

static void enter_message(struct job *entry, const struct queue_slot *first)
{
	entry->number_type = first->payload.bytes[offsetof(struct ina_wire_header, number_type)];
	entry->operation = first->payload.bytes[offsetof(struct ina_wire_header, operation)];
	entry->overflow = false;
}

/* Makes the sum of the heads in join->frame. */
static void make_sum(struct join *join, unsigned job, const struct queue_slot *first)
{
	struct job *entry = &join->jobs->entries[job];
	uint8_t *sum = join->frame + PACKET_HEADER_BYTES_MAX;
	struct tree_layout layout = {
	        .payload_bytes = first->payload_bytes,
	        .starts = packet_opcode_starts(first->opcode),
	        .ends = packet_opcode_ends(first->opcode),
	};

	if (layout.starts)
		enter_message(entry, first);
	layout.number_type = entry->number_type;
	layout.operation = entry->operation;
	tree_clear(join->tree);
	for (unsigned port = 0; port < join->port_count; port++)
		if (has_port(entry, port))
			tree_set_operand(join->tree, port, &front(join, port, job)->payload);
	if (tree_sum(join->tree, &layout, sum))
		entry->overflow = true;
	entry->in_message = !layout.ends;
	if (layout.ends && entry->overflow)
		sum[first->payload_bytes - sizeof(struct ina_wire_trailer) +
		    offsetof(struct ina_wire_trailer, flags)] |= INA_WIRE_OVERFLOW;
}

static bool any_is_marked(const struct join *join, unsigned job)
{
	const struct job *entry = &join->jobs->entries[job];

	for (unsigned port = 0; port < join->port_count; port++)
		if (has_port(entry, port) && rebuild_is_marked(&front(join, port, job)->header))
			return true;
	return false;
}

/* Sends the sum on all ports of the job, each with the header that came in there, and pops. */
static void send_sum(struct join *join, unsigned job, unsigned payload_bytes)
{
	const struct job *entry = &join->jobs->entries[job];
	bool marked = any_is_marked(join, job);

	for (unsigned port = 0; port < join->port_count; port++) {
		if (!has_port(entry, port))
			continue;
		const struct queue_slot *slot = front(join, port, job);
		bool mark = marked && rebuild_may_be_marked(&slot->header);

		send_frame(join, port, &slot->header, payload_bytes, mark);
		join->counters->ecn_marked += mark;
		join->counters->packets_joined++;
		join->counters->bytes_joined += payload_bytes;
		queue_pop(&join->judges[port].queues[job], false);
	}
}

/* True: that was the last LEAVE, and the job is gone. */
static bool leave(struct join *join, unsigned job, unsigned port)
{
	const struct job *entry = &join->jobs->entries[job];

	if (!jobs_leave(join->jobs, job, port))
		return false;
	for (unsigned other = 0; other < join->port_count; other++)
		if (has_port(entry, other))
			judge_forget(&join->judges[other], job);
	return true;
}

static void join_heads(struct join *join, unsigned job)
{
	const struct job *entry = &join->jobs->entries[job];
	unsigned lowest = 0;

	while (!has_port(entry, lowest))
		lowest++;
	const struct queue_slot *first = front(join, lowest, job);
	if (!heads_match(join, job, first)) {
		jobs_break(join->jobs, job);
		return;
	}
	bool leaves = queue_slot_is_control(first, INA_WIRE_LEAVE);
	make_sum(join, job, first);
	history_write(&join->histories[job], join->judges[lowest].queues[job].head,
	              join->frame + PACKET_HEADER_BYTES_MAX, first->payload_bytes);
	send_sum(join, job, first->payload_bytes);
	if (!leaves)
		return;
	for (unsigned port = lowest; port < join->port_count; port++)
		if (has_port(entry, port))
			leave(join, job, port);
}

/* Sends on what one port of a broken job has waiting, with the payload that it came with. */
static void send_raw(struct join *join, unsigned job, unsigned port)
{
	struct queue *queue = &join->judges[port].queues[job];

	while (queue_fill(queue) > 0) {
		const struct queue_slot *slot = queue_front(queue);
		bool leaves = queue_slot_is_control(slot, INA_WIRE_LEAVE);

		memcpy(join->frame + PACKET_HEADER_BYTES_MAX, slot->payload.bytes,
		       slot->payload_bytes);
		send_frame(join, port, &slot->header, slot->payload_bytes, false);
		join->counters->packets_raw++;
		queue_pop(queue, true);
		if (leaves && leave(join, job, port))
			return;
	}
}

void join_run(struct join *join, unsigned job)
{
	const struct job *entry = &join->jobs->entries[job];

	while (may_join(join, job))
		join_heads(join, job);
	if (!entry->valid || !entry->broken)
		return;
	for (unsigned port = 0; port < join->port_count && entry->valid; port++)
		if (has_port(entry, port))
			send_raw(join, job, port);
}

void join_resend(struct join *join, unsigned port, unsigned job, uint64_t head,
                 const struct packet *packet)
{
	const struct history_sum *sum = history_read(&join->histories[job], head);

	assert(has_port(&join->jobs->entries[job], port));
	if (packet->payload_bytes != sum->payload_bytes) {
		join->counters->answers_differ++;
		return;
	}
	join->counters->duplicates_answered++;
	memcpy(join->frame + PACKET_HEADER_BYTES_MAX, sum->payload.bytes, sum->payload_bytes);
	send_frame(join, port, &packet->header, sum->payload_bytes, false);
}

void join_probe(struct join *join, unsigned port, const struct packet *packet)
{
	uint32_t psn = (packet->psn + INA_WIRE_PROBE_PSN_OFFSET) & PACKET_PSN_MASK;
	struct packet_header header = packet->header;
	uint8_t *at = header.bytes + header.bth_at + PACKET_BTH_PSN_AT;

	at[0] = (uint8_t)(psn >> 16);
	at[1] = (uint8_t)(psn >> 8);
	at[2] = (uint8_t)psn;
	memset(join->frame + PACKET_HEADER_BYTES_MAX, 0, packet->payload_bytes);
	send_frame(join, port, &header, packet->payload_bytes, false);
}

void join_expire(struct join *join, unsigned job)
{
	const struct job *entry = &join->jobs->entries[job];

	/* A LEAVE that waits in a queue may free the job on the way. */
	for (unsigned port = 0; port < join->port_count && entry->valid; port++)
		if (has_port(entry, port))
			send_raw(join, job, port);
	for (unsigned port = 0; port < join->port_count && entry->valid; port++)
		if (has_port(entry, port))
			leave(join, job, port);
}

void join_leave(struct join *join, unsigned job, unsigned port)
{
	/* A LEAVE that waited in the queue may have freed it. */
	if (join->jobs->entries[job].valid)
		leave(join, job, port);
}
