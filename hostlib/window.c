/* SPDX-License-Identifier: Apache-2.0 */
/* The aggregated all-reduce. */
#include "window.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "fixed.h"

/* Of the flight whose message it is, in the ring; -1: of one that is done with, or not begun. */
static int place_of(const struct ina_window *window, uint64_t number)
{
	for (unsigned int i = 0; i < window->flight_count; i++) {
		unsigned int place = (window->oldest + i) % INA_WINDOW_FLIGHTS;
		const struct ina_flight *flight = &window->flights[place];

		if (number >= flight->first && number - flight->first < flight->count)
			return (int)place;
	}
	return -1;
}

/* There is one: the message is under way. */
static struct ina_flight *flight_of(struct ina_window *window, uint64_t number)
{
	int place = place_of(window, number);

	assert(place >= 0);
	return &window->flights[place];
}

void ina_window_reset(struct ina_window *window)
{
	ina_window_stop(window);
	window->numbered = 0;
	window->expected = 0;
	window->posted = 0;
	window->received = 0;
	window->finished = 0;
	window->unacknowledged = 0;
	window->awaited_bytes = 0;
	window->contributors = 0;
}

static bool has_place(const struct ina_window *window)
{
	return window->unacknowledged < window->lane.window &&
	       window->posted < window->finished + window->lane.window &&
	       2 * window->awaited_bytes < (uint64_t)window->lane.window * window->lane.limit_bytes;
}

bool ina_window_has_room(const struct ina_window *window)
{
	return window->flight_count < INA_WINDOW_FLIGHTS && window->posted == window->numbered &&
	       has_place(window);
}

void ina_window_start(struct ina_window *window, enum ina_wire_type type, int32_t exponent,
                      const struct ina_transfer *transfer)
{
	uint32_t places = window->lane.window;
	uint64_t blocks = ina_message_count(transfer->total_bytes, window->lane.limit_bytes);
	uint64_t lead = !transfer->fixed ? 0 : blocks < places ? blocks : places;
	bool data = type == INA_WIRE_DATA;
	struct ina_flight *flight =
	        &window->flights[(window->oldest + window->flight_count) % INA_WINDOW_FLIGHTS];

	assert(window->flight_count < INA_WINDOW_FLIGHTS);
	window->flight_count++;
	*flight = (struct ina_flight){
	        .context = window->lane.context,
	        .transfer = *transfer,
	        .first = window->numbered,
	        .count = blocks + lead,
	        .lead = lead,
	};
	/* The public numbers of types and operations are those of the wire. */
	flight->context.type = (uint8_t)type;
	flight->context.number_type = data ? (uint8_t)transfer->type : INA_WIRE_NO_NUMBERS;
	flight->context.operation = data ? (uint8_t)transfer->op : INA_WIRE_NO_OPERATION;
	flight->context.exponent = exponent;
	window->numbered += flight->count;
}

void ina_window_retire(struct ina_window *window)
{
	window->oldest = (window->oldest + 1) % INA_WINDOW_FLIGHTS;
	window->flight_count--;
}

static bool is_lead(const struct ina_flight *flight, uint64_t number)
{
	return number - flight->first < flight->lead;
}

/* The first byte of a message's elements in its transfer. */
static uint64_t offset_of(const struct ina_window *window, const struct ina_flight *flight,
                          uint64_t number)
{
	return (number - flight->first - flight->lead) * window->lane.limit_bytes;
}

static uint32_t length_of(const struct ina_window *window, const struct ina_flight *flight,
                          uint64_t number)
{
	if (is_lead(flight, number))
		return 0;
	return ina_message_length(flight->transfer.total_bytes, window->lane.limit_bytes,
	                          number - flight->first - flight->lead);
}

/* Bytes of the collective from this message on; the header has them modulo 2^32. */
static uint32_t remaining_of(const struct ina_window *window, const struct ina_flight *flight,
                             uint64_t number)
{
	uint64_t total = flight->transfer.total_bytes;

	return (uint32_t)(is_lead(flight, number) ? total
	                                          : total - offset_of(window, flight, number));
}

uint64_t ina_window_sums(const struct ina_window *window)
{
	const struct ina_flight *flight = ina_window_oldest(window);

	return window->received < flight->first                   ? 0
	       : window->received < flight->first + flight->count ? window->received - flight->first
	                                                          : flight->count;
}

uint64_t ina_window_summed_bytes(const struct ina_window *window)
{
	const struct ina_flight *flight = ina_window_oldest(window);
	uint64_t sums = ina_window_sums(window);

	if (sums == flight->count)
		return flight->transfer.total_bytes;
	return sums < flight->lead ? 0 : offset_of(window, flight, flight->first + sums);
}

static bool in_place(const struct ina_flight *flight)
{
	return flight->transfer.send == flight->transfer.recv;
}

/* Where the sum of a message is kept until all ranks have it. */
static uint8_t *staging_of(const struct ina_window *window, uint64_t number)
{
	return window->lane.staging + number % (2 * window->lane.window) * window->lane.limit_bytes;
}

static uint8_t *result_of(const struct ina_window *window, const struct ina_flight *flight,
                          uint64_t number)
{
	return flight->transfer.recv + offset_of(window, flight, number);
}

/*
 * In place, a sum must not land on a contribution that a fall-back might still need; and the last
 * ones must outlive the transfer.
 */
static bool lands_in_staging(const struct ina_window *window, const struct ina_flight *flight,
                             uint64_t number)
{
	return in_place(flight) ||
	       (window->keeps && number + window->lane.window >= flight->first + flight->count);
}

static uint8_t *landing_of(const struct ina_window *window, const struct ina_flight *flight,
                           uint64_t number, uint32_t *lkey)
{
	bool apart = lands_in_staging(window, flight, number);

	*lkey = apart ? window->lane.lkey : flight->transfer.recv_lkey;
	if (length_of(window, flight, number) == 0)
		return NULL;
	return apart ? staging_of(window, number) : result_of(window, flight, number);
}

static const struct ina_slot *receive_slot(const struct ina_window *window, uint64_t number)
{
	return &window->lane.rx_slots[number % window->receives];
}

static int post_receive(struct ina_window *window, uint64_t number)
{
	const struct ina_flight *flight = flight_of(window, number);
	uint32_t lkey;
	uint8_t *landing = landing_of(window, flight, number, &lkey);

	return ina_lane_receive(&window->lane, INA_WORK_WINDOW_RECEIVE,
	                        receive_slot(window, number), landing, lkey,
	                        length_of(window, flight, number));
}

/* All ranks' exponent of the block that a message carries: the message `lead` before it says it. */
static int32_t *exponent_of(struct ina_window *window, uint64_t number)
{
	return &window->exponents[number % (2 * window->lane.window)];
}

static bool is_exponent(int32_t exponent)
{
	return (exponent >= INA_FIXED_MIN && exponent <= INA_FIXED_MAX) ||
	       exponent == INA_FIXED_NONE;
}

/* What a message says of the block that it speaks of, if there is one. */
static int32_t own_exponent(const struct ina_window *window, const struct ina_flight *flight,
                            uint64_t number)
{
	uint64_t speaks_of = number + flight->lead;

	if (!flight->transfer.fixed)
		return flight->context.exponent;
	if (speaks_of >= flight->first + flight->count)
		return 0;
	return ina_fixed_exponent(flight->transfer.send + offset_of(window, flight, speaks_of),
	                          length_of(window, flight, speaks_of) / sizeof(float));
}

/* What a message says that its elements are. */
static enum ina_wire_number_type number_type_of(struct ina_window *window,
                                                const struct ina_flight *flight, uint64_t number)
{
	if (!flight->transfer.fixed)
		return flight->context.number_type;
	if (is_lead(flight, number) || *exponent_of(window, number) != INA_FIXED_NONE)
		return INA_WIRE_INT32;
	return INA_WIRE_FLOAT32;
}

static bool is_fixed(struct ina_window *window, const struct ina_flight *flight, uint64_t number)
{
	return flight->transfer.fixed && !is_lead(flight, number) &&
	       number_type_of(window, flight, number) == INA_WIRE_INT32;
}

/* What is sent of a message's elements: themselves, or the integers made of them. */
static const uint8_t *source_of(struct ina_window *window, const struct ina_flight *flight,
                                uint64_t number, uint32_t *lkey)
{
	const struct ina_lane *lane = &window->lane;
	uint8_t *integers = window->integers + number % lane->window * lane->limit_bytes;
	const uint8_t *elements;

	*lkey = flight->transfer.send_lkey;
	if (length_of(window, flight, number) == 0)
		return NULL;
	elements = flight->transfer.send + offset_of(window, flight, number);
	if (!is_fixed(window, flight, number))
		return elements;
	ina_fixed_quantize(integers, elements, length_of(window, flight, number) / sizeof(float),
	                   *exponent_of(window, number), lane->ranks);
	*lkey = lane->lkey;
	return integers;
}

static int add_send(struct ina_window *window, const struct ina_flight *flight, uint64_t number,
                    struct ina_lot *lot)
{
	struct ina_lane *lane = &window->lane;
	struct ina_slot *slot = &lane->tx_slots[number % lane->window];
	struct ina_message_context context = flight->context;
	uint32_t length = length_of(window, flight, number);
	uint32_t lkey;
	const uint8_t *source = source_of(window, flight, number, &lkey);

	context.number_type = (uint8_t)number_type_of(window, flight, number);
	context.exponent = own_exponent(window, flight, number);
	ina_message_frame(slot, &context, (uint32_t)number, length,
	                  remaining_of(window, flight, number), 0);
	return ina_lane_send(lane, lot, INA_WORK_WINDOW_SEND, slot, source, lkey, length);
}

/*
 * The next message: its receive, and those of the messages that can come before it is sent. The
 * message itself goes with its lot. 0, or an errno.
 */
static int post(struct ina_window *window, struct ina_lot *lot)
{
	const struct ina_flight *flight = flight_of(window, window->posted);
	uint64_t end = window->posted + 1 + window->receives - window->lane.window;
	int error = 0;

	while (error == 0 && window->expected < end && window->expected < window->numbered)
		error = post_receive(window, window->expected++);
	if (error == 0)
		error = add_send(window, flight, window->posted, lot);
	window->awaited_bytes += length_of(window, flight, window->posted);
	window->posted++;
	window->unacknowledged++;
	return error;
}

static void finish_message(struct ina_window *window)
{
	uint64_t number = window->finished++;
	struct ina_flight *flight = flight_of(window, number);
	uint32_t length = length_of(window, flight, number);
	uint32_t lkey;
	uint8_t *landing = landing_of(window, flight, number, &lkey);

	window->awaited_bytes -= length;
	if (length == 0)
		return;
	if (is_fixed(window, flight, number)) {
		ina_fixed_restore(landing, length / sizeof(float), *exponent_of(window, number),
		                  window->lane.ranks);
		flight->blocks_fixed++;
	} else {
		flight->blocks_float += flight->transfer.fixed;
	}
	if (lands_in_staging(window, flight, number))
		memcpy(result_of(window, flight, number), landing, length);
}

/* A block can go when all ranks' exponent of it has come. */
static bool may_post(struct ina_window *window)
{
	const struct ina_flight *flight;

	if (window->posted >= window->numbered || !has_place(window))
		return false;
	flight = flight_of(window, window->posted);
	return is_lead(flight, window->posted) || !flight->transfer.fixed ||
	       window->posted < window->received + flight->lead;
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
	uint64_t number = window->received;
	struct ina_flight *flight = flight_of(window, number);
	const struct ina_slot *slot = receive_slot(window, number);
	uint64_t index = number - flight->first;
	uint32_t length = length_of(window, flight, number);
	struct ina_wire_header expected = ina_message_header(
	        &flight->context, (uint32_t)number, length, remaining_of(window, flight, number));
	enum ina_message_verdict verdict;
	bool overflow;

	expected.number_type = (uint8_t)number_type_of(window, flight, number);
	if (flight->transfer.fixed && is_exponent(slot->header.exponent))
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
	if (verdict == INA_MESSAGE_RAW && flight->context.type == INA_WIRE_DATA)
		return ina_fail(failure, INA_ERR_AGGREGATOR,
		                "the aggregator dropped out in message %" PRIu64
		                " (%u contributors of %d)",
		                index, slot->trailer.contributors, lane->ranks);
	overflow = (slot->trailer.flags & INA_WIRE_OVERFLOW) != 0;
	flight->overflow |= overflow;
	window->overflowed[number % (2 * lane->window)] = overflow;
	if (flight->transfer.fixed)
		*exponent_of(window, number + flight->lead) = slot->header.exponent;
	window->received++;
	return INA_OK;
}

void ina_window_sent(struct ina_window *window)
{
	window->unacknowledged--;
}

void ina_window_stop(struct ina_window *window)
{
	window->flight_count = 0;
}

void ina_window_salvage(struct ina_window *window)
{
	while (window->flight_count > 0 && window->finished < window->received)
		finish_message(window);
}

bool ina_window_copy_sum(const struct ina_window *window, uint64_t number, uint8_t *to)
{
	int place = place_of(window, number);
	const struct ina_flight *flight = place >= 0 ? &window->flights[place] : NULL;

	if (flight && length_of(window, flight, number) > 0)
		memcpy(to, result_of(window, flight, number), length_of(window, flight, number));
	else
		memcpy(to, staging_of(window, number), window->lane.limit_bytes);
	return window->overflowed[number % (2 * window->lane.window)];
}

void ina_window_supply(struct ina_window *window, const uint8_t *sum, bool overflow)
{
	uint64_t number = window->received++;
	struct ina_flight *flight = flight_of(window, number);

	window->finished = window->received;
	flight->overflow |= overflow;
	if (length_of(window, flight, number) > 0)
		memcpy(result_of(window, flight, number), sum, length_of(window, flight, number));
}

void ina_window_abandon(struct ina_window *window)
{
	struct ina_window before = *window;
	const struct ina_transfer nothing = {0};
	struct ina_failure ignored;

	/* Errors change nothing: the connection is not used again. */
	window->flight_count = 0;
	window->expected = window->posted = window->numbered;
	window->received = window->finished = window->numbered;
	window->awaited_bytes = 0;
	ina_window_start(window, INA_WIRE_LEAVE, 0, &nothing);
	ina_window_advance(window, &ignored);
	before.posted += window->unacknowledged - before.unacknowledged;
	before.unacknowledged = window->unacknowledged;
	*window = before;
}
