/* SPDX-License-Identifier: Apache-2.0 */
/* In all messages that are summed together, the first lanes of the header must be equal. */
#include "heads.h"

#include <stddef.h>
#include <string.h>

#include "wire/ina_wire.h"
#include "packet.h"
#include "rebuild.h"

const struct queue_slot *heads_first(const struct heads *heads)
{
	unsigned port = 0;

	while (!heads->slots[port])
		port++;
	return heads->slots[port];
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

/* Returns whether the packet starts a message that can be summed, or is a JOIN or LEAVE. */
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

/* In a JOIN the lane of the place may differ. */
static bool headers_are_equal(const uint8_t *a, const uint8_t *b)
{
	bool joins = a[offsetof(struct ina_wire_header, type)] == INA_WIRE_JOIN;

	return memcmp(a, b,
	              joins ? offsetof(struct ina_wire_header, remaining_bytes)
	                    : offsetof(struct ina_wire_header, exponent)) == 0;
}

bool heads_are_of_one_kind(const struct queue_slot *a, const struct queue_slot *b)
{
	return a->opcode == b->opcode && packet_pkey(&a->header) == packet_pkey(&b->header);
}

/* Different path MTUs change the opcodes too, so the lengths come first. */
static enum report_reason difference(const struct queue_slot *a, const struct queue_slot *b)
{
	if (a->payload_bytes != b->payload_bytes)
		return REPORT_LENGTHS;
	if (!heads_are_of_one_kind(a, b))
		return REPORT_OPCODES;
	return packet_opcode_starts(a->opcode) &&
	                       !headers_are_equal(a->payload.bytes, b->payload.bytes)
	               ? REPORT_HEADERS
	               : REPORT_NONE;
}

struct report_event heads_mismatch(const struct heads *heads, const struct job *job,
                                   const struct aggregator_lack *lacks)
{
	const struct queue_slot *first = heads_first(heads);
	bool starts = packet_opcode_starts(first->opcode);
	struct report_event found = {.port = REPORT_NO_PORT};

	if (starts == job->in_message || (starts && !is_known(lacks, first)))
		found.reason = REPORT_NO_MESSAGE;
	for (unsigned port = 0; port < TREE_LEAVES_MAX && !found.reason; port++) {
		const struct queue_slot *slot = heads->slots[port];

		if (!slot || difference(first, slot) == REPORT_NONE)
			continue;
		found = (struct report_event){
		        .reason = difference(first, slot),
		        .port = port,
		        .bytes = {first->payload_bytes, slot->payload_bytes},
		};
	}
	return found;
}

static void enter_message(struct job *job, const struct queue_slot *first)
{
	job->number_type = first->payload.bytes[offsetof(struct ina_wire_header, number_type)];
	job->operation = first->payload.bytes[offsetof(struct ina_wire_header, operation)];
	job->overflow = false;
}

static int32_t window_lane(const uint8_t *join)
{
	int32_t lane;

	memcpy(&lane, join + offsetof(struct ina_wire_header, exponent), sizeof(lane));
	return lane;
}

/*
 * Sets the lane of the window to the MAX of the windows that were asked for and of the job's
 * grant, all of them negative.
 */
static void lower_window(const struct job *job, uint8_t *join)
{
	int32_t granted = -(int32_t)job->window_packets;

	if (granted > window_lane(join))
		memcpy(join + offsetof(struct ina_wire_header, exponent), &granted,
		       sizeof(granted));
}

/* If the sum of all ranks is made here, a JOIN's sum says how many jobs had a context before. */
static uint32_t jobs_before(const struct job *job, bool joins)
{
	return joins && !job->has_border ? job->before << INA_WIRE_BEFORE_SHIFT : 0;
}

/* ORs `flags` into the flags of the sum's trailer. */
static void set_flags(uint8_t *sum, unsigned payload_bytes, uint32_t flags)
{
	uint8_t *at = sum + payload_bytes - sizeof(struct ina_wire_trailer) +
	              offsetof(struct ina_wire_trailer, flags);
	uint32_t now;

	memcpy(&now, at, sizeof(now));
	now |= flags;
	memcpy(at, &now, sizeof(now));
}

bool heads_sum(const struct heads *heads, struct job *job, struct tree *tree, uint8_t *sum)
{
	const struct queue_slot *first = heads_first(heads);
	struct tree_layout layout = {
	        .payload_bytes = first->payload_bytes,
	        .starts = packet_opcode_starts(first->opcode),
	        .ends = packet_opcode_ends(first->opcode),
	};
	bool asks, joins;

	if (layout.starts)
		enter_message(job, first);
	layout.number_type = job->number_type;
	layout.operation = job->operation;
	tree_clear(tree);
	for (unsigned port = 0; port < TREE_LEAVES_MAX; port++)
		if (heads->slots[port])
			tree_set_operand(tree, port, &heads->slots[port]->payload);
	if (tree_sum(tree, &layout, sum))
		job->overflow = true;
	joins = layout.starts && sum[offsetof(struct ina_wire_header, type)] == INA_WIRE_JOIN;
	if (joins)
		lower_window(job, sum);
	asks = job->asked && layout.ends &&
	       (!layout.starts || sum[offsetof(struct ina_wire_header, type)] == INA_WIRE_DATA);
	job->in_message = !layout.ends;
	if (layout.ends) {
		set_flags(sum, first->payload_bytes,
		          (job->overflow ? INA_WIRE_OVERFLOW : 0) |
		                  (job->congested ? INA_WIRE_CONGESTED : 0) |
		                  (asks ? INA_WIRE_WANTED : 0) | jobs_before(job, joins));
		job->congested = false;
	}
	return asks;
}

bool heads_are_marked(const struct heads *heads)
{
	for (unsigned port = 0; port < TREE_LEAVES_MAX; port++)
		if (heads->slots[port] && rebuild_is_marked(&heads->slots[port]->header))
			return true;
	return false;
}

bool heads_fit_part(const struct queue_slot *from_above, const struct history_sum *part)
{
	if (from_above->payload_bytes != part->payload_bytes ||
	    (packet_opcode_starts(from_above->opcode) &&
	     !headers_are_equal(from_above->payload.bytes, part->payload.bytes)))
		return false;
	/*
	 * Otherwise the sum of the JOINs was made without the grant of this switch, before it had
	 * learned the flows.
	 */
	return !queue_slot_is_control(from_above, INA_WIRE_JOIN) ||
	       window_lane(from_above->payload.bytes) >= window_lane(part->payload.bytes);
}
