/* SPDX-License-Identifier: Apache-2.0 */
/* The aggregated all-reduce. */
#include "window.h"

#include <inttypes.h>
#include <string.h>

#include "fixed.h"

void ina_window_start(struct ina_window *window, enum ina_wire_type type, int32_t exponent,
                      const struct ina_transfer *transfer)
{
	struct ina_message_context *context = &window->lane.context;
	bool data = type == INA_WIRE_DATA;

	/* The public numbers of types and operations are those of the wire. */
	context->type = (uint8_t)type;
	context->number_type = data ? (uint8_t)transfer->type : INA_WIRE_NO_NUMBERS;
	context->operation = data ? (uint8_t)transfer->op : INA_WIRE_NO_OPERATION;
	context->exponent = exponent;
	window->transfer = *transfer;
	window->active = true;
	window->previous_overflow = window->overflow;
	window->first = window->numbered;
	window->count = ina_message_count(transfer->total_bytes, window->lane.limit_bytes);
	window->lead = 0;
	if (transfer->fixed)
		window->lead =
		        window->count < window->lane.window ? window->count : window->lane.window;
	window->count += window->lead;
	window->blocks_fixed = 0;
	window->blocks_float = 0;
	window->numbered += window->count;
	window->expected = 0;
	window->posted = 0;
	window->received = 0;
	window->finished = 0;
	window->contributors = 0;
	window->overflow = false;
}

static bool is_lead(const struct ina_window *window, uint64_t index)
{
	return index < window->lead;
}

/* The first byte of a message's elements in the transfer. */
static uint64_t offset_of(const struct ina_window *window, uint64_t index)
{
	return (index - window->lead) * window->lane.limit_bytes;
}

static uint32_t length_of(const struct ina_window *window, uint64_t index)
{
	if (is_lead(window, index))
		return 0;
	return ina_message_length(window->transfer.total_bytes, window->lane.limit_bytes,
	                          index - window->lead);
}

/* Bytes of the collective from this message on; the header has them modulo 2^32. */
static uint32_t remaining_of(const struct ina_window *window, uint64_t index)
{
	uint64_t total = window->transfer.total_bytes;

	return (uint32_t)(is_lead(window, index) ? total : total - offset_of(window, index));
}

uint64_t ina_window_summed_bytes(const struct ina_window *window)
{
	return is_lead(window, window->received) ? 0 : offset_of(window, window->received);
}

static uint64_t place_of(const struct ina_window *window, uint64_t index)
{
	return (window->first + index) % window->lane.window;
}

static bool in_place(const struct ina_window *window)
{
	return window->transfer.send == window->transfer.recv;
}

/* Where the sum of a message of the connection is kept until all ranks have it. */
static uint8_t *staging_of(const struct ina_window *window, uint64_t number)
{
	return window->lane.staging + number % (2 * window->lane.window) * window->lane.limit_bytes;
}

static uint8_t *result_of(const struct ina_window *window, uint64_t index)
{
	return window->transfer.recv + offset_of(window, index);
}

/*
 * In place, a sum must not land on a contribution that a fall-back might still need; and the last
 * ones must outlive the transfer.
 */
static bool lands_in_staging(const struct ina_window *window, uint64_t index)
{
	return in_place(window) || (window->keeps && index + window->lane.window >= window->count);
}

static uint8_t *landing_of(const struct ina_window *window, uint64_t index, uint32_t *lkey)
{
	bool apart = lands_in_staging(window, index);

	*lkey = apart ? window->lane.lkey : window->transfer.recv_lkey;
	if (length_of(window, index) == 0)
		return NULL;
	return apart ? staging_of(window, window->first + index) : result_of(window, index);
}

static const struct ina_slot *receive_slot(const struct ina_window *window, uint64_t index)
{
	return &window->lane.rx_slots[(window->first + index) % window->receives];
}

static int post_receive(struct ina_window *window, uint64_t index)
{
	uint32_t lkey;
	uint8_t *landing = landing_of(window, index, &lkey);

	return ina_lane_receive(&window->lane, INA_WORK_WINDOW_RECEIVE, receive_slot(window, index),
	                        landing, lkey, length_of(window, index));
}

/* All ranks' exponent of a block; message m of the transfer speaks of block m. */
static int32_t *exponent_of(struct ina_window *window, uint64_t block)
{
	return &window->exponents[block % (2 * window->lane.window)];
}

static bool is_exponent(int32_t exponent)
{
	return (exponent >= INA_FIXED_MIN && exponent <= INA_FIXED_MAX) ||
	       exponent == INA_FIXED_NONE;
}

/* What a message says of the block that it speaks of, if there is one. */
static int32_t own_exponent(const struct ina_window *window, uint64_t index)
{
	uint64_t speaks_of = index + window->lead;

	if (!window->transfer.fixed)
		return window->lane.context.exponent;
	if (speaks_of >= window->count)
		return 0;
	return ina_fixed_exponent(window->transfer.send + offset_of(window, speaks_of),
	                          length_of(window, speaks_of) / sizeof(float));
}

/* What a message says that its elements are. */
static enum ina_wire_number_type number_type_of(struct ina_window *window, uint64_t index)
{
	if (!window->transfer.fixed)
		return window->lane.context.number_type;
	if (is_lead(window, index) || *exponent_of(window, index - window->lead) != INA_FIXED_NONE)
		return INA_WIRE_INT32;
	return INA_WIRE_FLOAT32;
}

static bool is_fixed(struct ina_window *window, uint64_t index)
{
	return window->transfer.fixed && !is_lead(window, index) &&
	       number_type_of(window, index) == INA_WIRE_INT32;
}

/* What is sent of a message's elements: themselves, or the integers made of them. */
static const uint8_t *source_of(struct ina_window *window, uint64_t index, uint32_t *lkey)
{
	const struct ina_lane *lane = &window->lane;
	uint8_t *integers = window->integers + place_of(window, index) * lane->limit_bytes;

	*lkey = window->transfer.send_lkey;
	if (length_of(window, index) == 0)
		return NULL;
	if (!is_fixed(window, index))
		return window->transfer.send + offset_of(window, index);
	ina_fixed_quantize(integers, window->transfer.send + offset_of(window, index),
	                   length_of(window, index) / sizeof(float),
	                   *exponent_of(window, index - window->lead), lane->ranks);
	*lkey = lane->lkey;
	return integers;
}

static int add_send(struct ina_window *window, uint64_t index, struct ina_lot *lot)
{
	struct ina_lane *lane = &window->lane;
	struct ina_slot *slot = &lane->tx_slots[place_of(window, index)];
	struct ina_message_context context = lane->context;
	uint32_t length = length_of(window, index);
	uint32_t lkey;
	const uint8_t *source = source_of(window, index, &lkey);

	context.number_type = (uint8_t)number_type_of(window, index);
	context.exponent = own_exponent(window, index);
	ina_message_frame(slot, &context, (uint32_t)(window->first + index), length,
	                  remaining_of(window, index), 0);
	return ina_lane_send(lane, lot, INA_WORK_WINDOW_SEND, slot, source, lkey, length);
}

/*
 * The next message: its receive, and those of the messages that can come before it is sent. The
 * message itself goes with its lot. 0, or an errno.
 */
static int post(struct ina_window *window, struct ina_lot *lot)
{
	uint64_t end = window->posted + 1 + window->receives - window->lane.window;
	int error = 0;

	while (error == 0 && window->expected < end && window->expected < window->count)
		error = post_receive(window, window->expected++);
	if (error == 0)
		error = add_send(window, window->posted, lot);
	window->posted++;
	window->unacknowledged++;
	return error;
}

static void finish_message(struct ina_window *window)
{
	uint64_t index = window->finished++;
	uint32_t length = length_of(window, index);
	uint32_t lkey;
	uint8_t *landing = landing_of(window, index, &lkey);

	if (length == 0)
		return;
	if (is_fixed(window, index)) {
		ina_fixed_restore(landing, length / sizeof(float),
		                  *exponent_of(window, index - window->lead), window->lane.ranks);
		window->blocks_fixed++;
	} else {
		window->blocks_float += window->transfer.fixed;
	}
	if (lands_in_staging(window, index))
		memcpy(result_of(window, index), landing, length);
}

/* A block can go when all ranks' exponent of it has come. */
static bool may_post(const struct ina_window *window)
{
	if (window->posted >= window->count || window->unacknowledged >= window->lane.window ||
	    window->posted >= window->finished + window->lane.window)
		return false;
	return is_lead(window, window->posted) || !window->transfer.fixed ||
	       window->posted < window->received + window->lead;
}

enum ina_status ina_window_advance(struct ina_window *window, struct ina_failure *failure)
{
	struct ina_lot lot;
	int error = 0;

	lot.count = 0;
	while (window->finished < window->received)
		finish_message(window);
	while (error == 0 && may_post(window))
		error = post(window, &lot);
	if (error == 0)
		error = ina_lane_post(&window->lane, &lot);
	if (error != 0)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "messages before number %" PRIu64 " cannot be posted: %s",
		                window->posted, strerror(error));
	return INA_OK;
}

enum ina_status ina_window_received(struct ina_window *window, uint32_t byte_len,
                                    struct ina_failure *failure)
{
	const struct ina_lane *lane = &window->lane;
	uint64_t index = window->received;
	uint32_t length = length_of(window, index);
	const struct ina_slot *slot = receive_slot(window, index);
	struct ina_wire_header expected =
	        ina_message_header(&lane->context, (uint32_t)(window->first + index), length,
	                           remaining_of(window, index));
	enum ina_message_verdict verdict;

	expected.number_type = (uint8_t)number_type_of(window, index);
	if (window->transfer.fixed && is_exponent(slot->header.exponent))
		expected.exponent = slot->header.exponent;
	verdict = ina_message_check(slot, byte_len, &expected, window->contributors_due,
	                            window->rank_due);

	if (verdict == INA_MESSAGE_FOREIGN && slot->header.type == INA_WIRE_LEAVE &&
	    slot->header.job_id == lane->context.job_id)
		return ina_fail(failure, INA_ERR_AGGREGATOR,
		                "the predecessor left the aggregator before message %" PRIu64,
		                index);
	if (verdict == INA_MESSAGE_FOREIGN)
		return ina_fail(
		        failure, INA_ERR_MISMATCH,
		        "what came as message %" PRIu64 " belongs to another call (%u bytes, %u "
		        "of elements, message number %u; expected %u, %u, %u)",
		        index, byte_len, slot->header.length_bytes, slot->header.message_number,
		        ina_message_bytes(length), length, expected.message_number);
	window->contributors = slot->trailer.contributors;
	if (verdict == INA_MESSAGE_RAW && lane->context.type == INA_WIRE_DATA)
		return ina_fail(failure, INA_ERR_AGGREGATOR,
		                "the aggregator dropped out in message %" PRIu64
		                " (%u contributors of %d)",
		                index, slot->trailer.contributors, lane->ranks);
	if (slot->trailer.flags & INA_WIRE_OVERFLOW)
		window->overflow = true;
	*exponent_of(window, index) = slot->header.exponent;
	window->received++;
	return INA_OK;
}

void ina_window_sent(struct ina_window *window)
{
	window->unacknowledged--;
}

void ina_window_stop(struct ina_window *window)
{
	window->active = false;
}

void ina_window_salvage(struct ina_window *window)
{
	while (window->active && window->finished < window->received)
		finish_message(window);
}

void ina_window_copy_sum(const struct ina_window *window, uint64_t number, uint8_t *to)
{
	uint64_t index = number - window->first;

	if (window->active && number >= window->first && length_of(window, index) > 0)
		memcpy(to, result_of(window, index), length_of(window, index));
	else
		memcpy(to, staging_of(window, number), window->lane.limit_bytes);
}

void ina_window_supply(struct ina_window *window, const uint8_t *sum)
{
	uint64_t index = window->received++;

	window->finished = window->received;
	if (length_of(window, index) > 0)
		memcpy(result_of(window, index), sum, length_of(window, index));
}

void ina_window_abandon(struct ina_window *window)
{
	const struct ina_window before = *window;
	const struct ina_transfer nothing = {0};
	struct ina_failure ignored;

	/* Errors change nothing: the connection is not used again. */
	ina_window_start(window, INA_WIRE_LEAVE, 0, &nothing);
	ina_window_advance(window, &ignored);
	const uint64_t unacknowledged = window->unacknowledged;
	*window = before;
	window->unacknowledged = unacknowledged;
	ina_window_stop(window);
}
