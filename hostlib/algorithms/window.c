/* SPDX-License-Identifier: Apache-2.0 */
/* Sends messages as the window allows, and receives their sums. */
#include "window.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "hostlib/elements/block_float.h"

uint64_t ina_innet_sums(const struct ina_innet *innet)
{
	const struct ina_operation *operation = ina_innet_oldest(innet);

	return innet->received < operation->first ? 0
	       : innet->received < operation->first + operation->count
	               ? innet->received - operation->first
	               : operation->count;
}

uint64_t ina_innet_summed_bytes(const struct ina_innet *innet)
{
	const struct ina_operation *operation = ina_innet_oldest(innet);
	uint64_t sums = ina_innet_sums(innet);

	if (sums == operation->count)
		return operation->transfer.total_bytes;
	return sums < operation->lead
	               ? 0
	               : ina_operation_offset(innet, operation, operation->first + sums);
}

void ina_innet_reset(struct ina_innet *innet)
{
	ina_innet_stop(innet);
	innet->numbered = 0;
	innet->expected = 0;
	innet->posted = 0;
	innet->received = 0;
	innet->finished = 0;
	innet->unacknowledged = 0;
	innet->awaited_bytes = 0;
	innet->asked = innet->says_leave = innet->is_leaving = false;
	innet->contributors = 0;
}

bool ina_innet_has_place(const struct ina_innet *innet)
{
	return innet->unacknowledged < innet->connection.window &&
	       innet->posted < innet->finished + ina_congestion_window(&innet->congestion) &&
	       2 * innet->awaited_bytes <
	               (int64_t)innet->connection.window * innet->connection.limit_bytes;
}

void ina_innet_start(struct ina_innet *innet, enum ina_wire_type type, int32_t exponent,
                     const struct ina_transfer *transfer)
{
	uint32_t places = innet->connection.window;
	uint64_t blocks = ina_message_count(transfer->total_bytes, innet->connection.limit_bytes);
	uint64_t lead = !transfer->fixed ? 0 : blocks < places ? blocks : places;
	bool data = type == INA_WIRE_DATA;
	struct ina_operation *operation =
	        &innet->operations[(innet->oldest + innet->operation_count) % INA_INNET_OPERATIONS];

	assert(innet->operation_count < INA_INNET_OPERATIONS);
	innet->operation_count++;
	*operation = (struct ina_operation){
	        .context = innet->connection.context,
	        .transfer = *transfer,
	        .first = innet->numbered,
	        .count = blocks + lead,
	        .lead = lead,
	};
	operation->context.type = (uint8_t)type;
	operation->context.number_type = data ? transfer->number_type : INA_WIRE_NO_NUMBERS;
	operation->context.operation = data ? (uint8_t)transfer->op : INA_WIRE_NO_OPERATION;
	operation->context.exponent = exponent;
	innet->numbered += operation->count;
}

static const struct ina_slot *receive_slot(const struct ina_innet *innet, uint64_t number)
{
	return &innet->connection.rx_slots[number % innet->receives];
}

static int post_receive(struct ina_innet *innet, uint64_t number)
{
	const struct ina_operation *operation = ina_operation_of(innet, number);
	uint32_t lkey;
	uint8_t *buffer = ina_operation_receive_buffer(innet, operation, number, &lkey);

	return ina_post_receive(&innet->connection, INA_WORK_WINDOW_RECEIVE,
	                        receive_slot(innet, number), buffer, lkey,
	                        ina_operation_length(innet, operation, number));
}

static bool is_exponent(int32_t exponent)
{
	return (exponent >= INA_BLOCK_FLOAT_MIN && exponent <= INA_BLOCK_FLOAT_MAX) ||
	       exponent == INA_BLOCK_FLOAT_NONE;
}

static int add_send(struct ina_innet *innet, const struct ina_operation *operation, uint64_t number,
                    struct ina_batch *batch)
{
	struct ina_connection_context *connection = &innet->connection;
	struct ina_slot *slot = operation->context.type == INA_WIRE_LEAVE
	                                ? innet->leave_slot
	                                : &connection->tx_slots[number % connection->window];
	struct ina_message_context context = operation->context;
	uint32_t length = ina_operation_length(innet, operation, number);
	uint32_t lkey;
	const uint8_t *source = ina_operation_source(innet, operation, number, &lkey);

	context.number_type = (uint8_t)ina_operation_number_type(innet, operation, number);
	context.exponent = ina_operation_own_exponent(innet, operation, number);
	ina_message_frame(slot, &context, (uint32_t)number, length,
	                  ina_operation_remaining(innet, operation, number),
	                  innet->says_leave ? INA_WIRE_REJOIN : 0);
	innet->says_leave = false;
	return ina_post_send(connection, batch, INA_WORK_WINDOW_SEND, slot, source, lkey, length);
}

/*
 * Posts the receives of the next message, and of those that can arrive before it is sent. Returns 0
 * or an errno.
 */
static int post_receives(struct ina_innet *innet)
{
	uint64_t end = innet->posted + 1 + innet->receives - innet->connection.window;
	int error = 0;

	while (error == 0 && innet->expected < end && innet->expected < innet->numbered)
		error = post_receive(innet, innet->expected++);
	return error;
}

/*
 * Posts the receives of the next message, and adds the message to the batch. Returns 0 or an errno.
 */
static int post(struct ina_innet *innet, struct ina_batch *batch)
{
	const struct ina_operation *operation = ina_operation_of(innet, innet->posted);
	int error = post_receives(innet);

	/* Without an aggregator (plain.h) there is no JOIN. */
	assert(operation->context.type != INA_WIRE_DATA || !innet->keeps ||
	       ina_innet_acknowledged(innet) > 0);
	if (error == 0)
		error = add_send(innet, operation, innet->posted, batch);
	innet->awaited_bytes += ina_operation_length(innet, operation, innet->posted);
	innet->posted++;
	innet->unacknowledged++;
	return error;
}

static void finish_message(struct ina_innet *innet)
{
	uint64_t number = innet->finished++;
	struct ina_operation *operation = ina_operation_of(innet, number);
	uint32_t length = ina_operation_length(innet, operation, number);
	uint32_t lkey;
	uint8_t *buffer = ina_operation_receive_buffer(innet, operation, number, &lkey);

	innet->awaited_bytes -= length;
	if (length == 0)
		return;
	if (ina_operation_is_fixed(innet, operation, number)) {
		ina_block_float_restore(buffer, length / sizeof(float),
		                        *ina_operation_exponent(innet, number),
		                        innet->connection.ranks);
		operation->blocks_fixed++;
	} else {
		operation->blocks_float += operation->transfer.fixed;
	}
	if (ina_operation_is_staged(innet, operation, number) && !operation->transfer.is_given)
		memcpy(ina_operation_result(innet, operation, number), buffer, length);
}

/*
 * May the next message be posted? A block may be sent when its exponent for all ranks is known. A
 * LEAVE is always sent immediately: a job that gives up its context may have no later opportunity,
 * and messages that are not acknowledged may still be summed.
 */
static bool may_post(struct ina_innet *innet)
{
	const struct ina_operation *operation;

	if (innet->posted >= innet->numbered)
		return false;
	operation = ina_operation_of(innet, innet->posted);
	if (operation->context.type == INA_WIRE_LEAVE)
		return true;
	if (!ina_innet_has_place(innet))
		return false;
	return ina_operation_is_lead(operation, innet->posted) || !operation->transfer.fixed ||
	       innet->posted < innet->received + operation->lead;
}

enum ina_status ina_innet_expect(struct ina_innet *innet, struct ina_failure *failure)
{
	int error = post_receives(innet);

	return error == 0 ? INA_OK
	                  : ina_fail(failure, INA_ERR_DEVICE, "cannot post a receive: %s",
	                             strerror(error));
}

enum ina_status ina_innet_advance(struct ina_innet *innet, struct ina_failure *failure)
{
	struct ina_batch batch;
	int error = 0;

	batch.count = 0;
	while (innet->finished < innet->received)
		finish_message(innet);
	while (error == 0 && may_post(innet))
		error = post(innet, &batch);
	if (error == 0)
		error = ina_post_batch(&innet->connection, &batch);
	if (error != 0)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "cannot post the messages before number %" PRIu64 ": %s",
		                innet->posted, strerror(error));
	return INA_OK;
}

/*
 * In a JOIN, accept another rank's place, and a window that is not larger than the one that this
 * rank asked for.
 */
static void expect_join(struct ina_wire_header *expected, const struct ina_slot *slot,
                        const struct ina_operation *operation)
{
	expected->remaining_bytes = slot->header.remaining_bytes;
	if (slot->header.exponent >= operation->context.exponent && slot->header.exponent < 0)
		expected->exponent = slot->header.exponent;
}

/*
 * The header that message `number`, which has arrived, should have. This rank does not know the
 * exponent beforehand, so it expects the one that came, if that is valid.
 */
static struct ina_wire_header
expected_header(struct ina_innet *innet, const struct ina_operation *operation, uint64_t number)
{
	const struct ina_slot *slot = receive_slot(innet, number);
	struct ina_wire_header expected =
	        ina_message_header(&operation->context, (uint32_t)number,
	                           ina_operation_length(innet, operation, number),
	                           ina_operation_remaining(innet, operation, number));

	expected.number_type = (uint8_t)ina_operation_number_type(innet, operation, number);
	if (operation->context.type == INA_WIRE_JOIN)
		expect_join(&expected, slot, operation);
	if (operation->transfer.fixed && is_exponent(slot->header.exponent))
		expected.exponent = slot->header.exponent;
	return expected;
}

enum ina_status ina_innet_received(struct ina_innet *innet, uint32_t byte_len,
                                   struct ina_failure *failure)
{
	const struct ina_connection_context *connection = &innet->connection;
	uint64_t number = innet->received;
	struct ina_operation *operation = ina_operation_of(innet, number);
	const struct ina_slot *slot = receive_slot(innet, number);
	uint64_t index = number - operation->first;
	uint32_t length = ina_operation_length(innet, operation, number);
	struct ina_wire_header expected = expected_header(innet, operation, number);
	enum ina_message_match match;
	bool overflow;
	bool congested;

	match = ina_message_check(slot, byte_len, &expected, innet->contributors_due,
	                          innet->rank_due);

	if (match == INA_MESSAGE_FOREIGN && slot->header.type == INA_WIRE_LEAVE &&
	    slot->header.job_id == connection->context.job_id)
		return ina_fail(failure, INA_ERR_AGGREGATOR,
		                "the predecessor left the aggregator before message %" PRIu64,
		                index);
	if (match == INA_MESSAGE_FOREIGN)
		return ina_fail(failure, INA_ERR_MISMATCH,
		                "message %" PRIu64 " belongs to another call (%u bytes, %u "
		                "of elements, message number %u; expected %u, %u, %u)",
		                index, byte_len, slot->header.length_bytes,
		                slot->header.message_number, ina_message_bytes(length), length,
		                expected.message_number);
	innet->contributors = slot->trailer.contributors;
	if (operation->context.type == INA_WIRE_JOIN) {
		innet->granted_packets = 0u - (uint32_t)slot->header.exponent;
		innet->before = slot->trailer.flags >> INA_WIRE_BEFORE_SHIFT;
	}
	if (match == INA_MESSAGE_RAW && operation->context.type == INA_WIRE_DATA)
		return ina_fail(failure, INA_ERR_AGGREGATOR,
		                "the aggregator dropped out in message %" PRIu64
		                " (%u contributors of %d)",
		                index, slot->trailer.contributors, connection->ranks);
	overflow = (slot->trailer.flags & INA_WIRE_OVERFLOW) != 0;
	operation->overflow |= overflow;
	innet->overflowed[number % (2 * connection->window)] = overflow;
	if (operation->transfer.fixed)
		*ina_operation_exponent(innet, number + operation->lead) = slot->header.exponent;
	if (slot->trailer.flags & INA_WIRE_REJOIN && !innet->is_leaving) {
		innet->is_leaving = true;
		innet->leaves_at = number + connection->window;
	}
	innet->asked |= (slot->trailer.flags & INA_WIRE_WANTED) != 0;
	congested = (slot->trailer.flags & INA_WIRE_CONGESTED) != 0;
	operation->congested += congested;
	ina_congestion_summed(&innet->congestion, number, congested, innet->posted);
	innet->received++;
	return INA_OK;
}

void ina_innet_sent(struct ina_innet *innet)
{
	innet->unacknowledged--;
}

void ina_innet_stop(struct ina_innet *innet)
{
	innet->operation_count = 0;
}

void ina_innet_salvage(struct ina_innet *innet)
{
	while (innet->operation_count > 0 && innet->finished < innet->received)
		finish_message(innet);
}

bool ina_innet_copy_sum(const struct ina_innet *innet, uint64_t number, uint8_t *to)
{
	int place = ina_operation_find(innet, number);
	const struct ina_operation *operation = place >= 0 ? &innet->operations[place] : NULL;

	if (operation && ina_operation_length(innet, operation, number) > 0)
		memcpy(to, ina_operation_result(innet, operation, number),
		       ina_operation_length(innet, operation, number));
	else
		memcpy(to, ina_operation_staging(innet, number), innet->connection.limit_bytes);
	return innet->overflowed[number % (2 * innet->connection.window)];
}

void ina_innet_supply(struct ina_innet *innet, const uint8_t *sum, bool overflow)
{
	uint64_t number = innet->received++;
	struct ina_operation *operation = ina_operation_of(innet, number);

	innet->finished = innet->received;
	operation->overflow |= overflow;
	if (ina_operation_length(innet, operation, number) > 0 && !operation->transfer.is_given)
		memcpy(ina_operation_result(innet, operation, number), sum,
		       ina_operation_length(innet, operation, number));
}
