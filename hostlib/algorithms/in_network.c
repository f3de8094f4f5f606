/* SPDX-License-Identifier: Apache-2.0 */
/* The in-network all-reduce. */
#include "in_network.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "hostlib/elements/block_float.h"

/* For a last message to leave the host before its queue pair is stopped. */
#define PARTING_MS 20

/* Of the operation whose message it is, in the ring; -1: of one that is done with, or not begun. */
static int place_of(const struct ina_innet *innet, uint64_t number)
{
	for (unsigned int i = 0; i < innet->operation_count; i++) {
		unsigned int place = (innet->oldest + i) % INA_INNET_OPERATIONS;
		const struct ina_operation *operation = &innet->operations[place];

		if (number >= operation->first && number - operation->first < operation->count)
			return (int)place;
	}
	return -1;
}

/* There is one: the message is under way. */
static struct ina_operation *operation_of(struct ina_innet *innet, uint64_t number)
{
	int place = place_of(innet, number);

	assert(place >= 0);
	return &innet->operations[place];
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
	innet->contributors = 0;
}

static bool has_place(const struct ina_innet *innet)
{
	return innet->unacknowledged < innet->connection.window &&
	       innet->posted < innet->finished + innet->connection.window &&
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
	/* The public numbers of types and operations are those of the wire. */
	operation->context.type = (uint8_t)type;
	operation->context.number_type = data ? (uint8_t)transfer->type : INA_WIRE_NO_NUMBERS;
	operation->context.operation = data ? (uint8_t)transfer->op : INA_WIRE_NO_OPERATION;
	operation->context.exponent = exponent;
	innet->numbered += operation->count;
}

static bool is_lead(const struct ina_operation *operation, uint64_t number)
{
	return number - operation->first < operation->lead;
}

/* The first byte of a message's elements in its transfer. */
static uint64_t offset_of(const struct ina_innet *innet, const struct ina_operation *operation,
                          uint64_t number)
{
	return (number - operation->first - operation->lead) * innet->connection.limit_bytes;
}

static uint32_t length_of(const struct ina_innet *innet, const struct ina_operation *operation,
                          uint64_t number)
{
	if (is_lead(operation, number))
		return 0;
	return ina_message_length(operation->transfer.total_bytes, innet->connection.limit_bytes,
	                          number - operation->first - operation->lead);
}

/* Bytes of the collective from this message on; the header has them modulo 2^32. */
static uint32_t remaining_of(const struct ina_innet *innet, const struct ina_operation *operation,
                             uint64_t number)
{
	uint64_t total = operation->transfer.total_bytes;

	return (uint32_t)(is_lead(operation, number) ? total
	                                             : total - offset_of(innet, operation, number));
}

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
	return sums < operation->lead ? 0 : offset_of(innet, operation, operation->first + sums);
}

static bool in_place(const struct ina_operation *operation)
{
	return operation->transfer.send == operation->transfer.recv;
}

/* Where the sum of a message is kept until all ranks have it. */
static uint8_t *staging_of(const struct ina_innet *innet, uint64_t number)
{
	return innet->connection.staging +
	       number % (2 * innet->connection.window) * innet->connection.limit_bytes;
}

static uint8_t *result_of(const struct ina_innet *innet, const struct ina_operation *operation,
                          uint64_t number)
{
	return operation->transfer.recv + offset_of(innet, operation, number);
}

/*
 * In place, a sum must not land on a contribution that a fall-back might still need; and the last
 * ones must outlive the transfer.
 */
static bool receives_in_staging(const struct ina_innet *innet,
                                const struct ina_operation *operation, uint64_t number)
{
	return in_place(operation) || (innet->keeps && number + innet->connection.window >=
	                                                       operation->first + operation->count);
}

static uint8_t *receive_buffer_of(const struct ina_innet *innet,
                                  const struct ina_operation *operation, uint64_t number,
                                  uint32_t *lkey)
{
	bool apart = receives_in_staging(innet, operation, number);

	*lkey = apart ? innet->connection.lkey : operation->transfer.recv_lkey;
	if (length_of(innet, operation, number) == 0)
		return NULL;
	return apart ? staging_of(innet, number) : result_of(innet, operation, number);
}

static const struct ina_slot *receive_slot(const struct ina_innet *innet, uint64_t number)
{
	return &innet->connection.rx_slots[number % innet->receives];
}

static int post_receive(struct ina_innet *innet, uint64_t number)
{
	const struct ina_operation *operation = operation_of(innet, number);
	uint32_t lkey;
	uint8_t *buffer = receive_buffer_of(innet, operation, number, &lkey);

	return ina_post_receive(&innet->connection, INA_WORK_WINDOW_RECEIVE,
	                        receive_slot(innet, number), buffer, lkey,
	                        length_of(innet, operation, number));
}

/* All ranks' exponent of the block that a message carries: the message `lead` before it says it. */
static int32_t *exponent_of(struct ina_innet *innet, uint64_t number)
{
	return &innet->exponents[number % (2 * innet->connection.window)];
}

static bool is_exponent(int32_t exponent)
{
	return (exponent >= INA_BLOCK_FLOAT_MIN && exponent <= INA_BLOCK_FLOAT_MAX) ||
	       exponent == INA_BLOCK_FLOAT_NONE;
}

/* What a message says of the block that it speaks of, if there is one. */
static int32_t own_exponent(const struct ina_innet *innet, const struct ina_operation *operation,
                            uint64_t number)
{
	uint64_t speaks_of = number + operation->lead;

	if (!operation->transfer.fixed)
		return operation->context.exponent;
	if (speaks_of >= operation->first + operation->count)
		return 0;
	return ina_block_float_exponent(operation->transfer.send +
	                                        offset_of(innet, operation, speaks_of),
	                                length_of(innet, operation, speaks_of) / sizeof(float));
}

/* What a message says that its elements are. */
static enum ina_wire_number_type
number_type_of(struct ina_innet *innet, const struct ina_operation *operation, uint64_t number)
{
	if (!operation->transfer.fixed)
		return operation->context.number_type;
	if (is_lead(operation, number) || *exponent_of(innet, number) != INA_BLOCK_FLOAT_NONE)
		return INA_WIRE_INT32;
	return INA_WIRE_FLOAT32;
}

static bool is_fixed(struct ina_innet *innet, const struct ina_operation *operation,
                     uint64_t number)
{
	return operation->transfer.fixed && !is_lead(operation, number) &&
	       number_type_of(innet, operation, number) == INA_WIRE_INT32;
}

/* What is sent of a message's elements: themselves, or the integers made of them. */
static const uint8_t *source_of(struct ina_innet *innet, const struct ina_operation *operation,
                                uint64_t number, uint32_t *lkey)
{
	const struct ina_connection_context *connection = &innet->connection;
	uint8_t *integers = innet->integers + number % connection->window * connection->limit_bytes;
	const uint8_t *elements;

	*lkey = operation->transfer.send_lkey;
	if (length_of(innet, operation, number) == 0)
		return NULL;
	elements = operation->transfer.send + offset_of(innet, operation, number);
	if (!is_fixed(innet, operation, number))
		return elements;
	ina_block_float_quantize(integers, elements,
	                         length_of(innet, operation, number) / sizeof(float),
	                         *exponent_of(innet, number), connection->ranks);
	*lkey = connection->lkey;
	return integers;
}

static int add_send(struct ina_innet *innet, const struct ina_operation *operation, uint64_t number,
                    struct ina_batch *batch)
{
	struct ina_connection_context *connection = &innet->connection;
	struct ina_slot *slot = &connection->tx_slots[number % connection->window];
	struct ina_message_context context = operation->context;
	uint32_t length = length_of(innet, operation, number);
	uint32_t lkey;
	const uint8_t *source = source_of(innet, operation, number, &lkey);

	context.number_type = (uint8_t)number_type_of(innet, operation, number);
	context.exponent = own_exponent(innet, operation, number);
	ina_message_frame(slot, &context, (uint32_t)number, length,
	                  remaining_of(innet, operation, number), 0);
	return ina_post_send(connection, batch, INA_WORK_WINDOW_SEND, slot, source, lkey, length);
}

/*
 * The next message: its receive, and those of the messages that can come before it is sent. The
 * message itself goes with its batch. 0, or an errno.
 */
static int post(struct ina_innet *innet, struct ina_batch *batch)
{
	const struct ina_operation *operation = operation_of(innet, innet->posted);
	uint64_t end = innet->posted + 1 + innet->receives - innet->connection.window;
	int error = 0;

	while (error == 0 && innet->expected < end && innet->expected < innet->numbered)
		error = post_receive(innet, innet->expected++);
	/* Without an aggregator (plain.h) there is no JOIN. */
	assert(operation->context.type != INA_WIRE_DATA || !innet->keeps ||
	       ina_innet_acknowledged(innet) > 0);
	if (error == 0)
		error = add_send(innet, operation, innet->posted, batch);
	innet->awaited_bytes += length_of(innet, operation, innet->posted);
	innet->posted++;
	innet->unacknowledged++;
	return error;
}

static void finish_message(struct ina_innet *innet)
{
	uint64_t number = innet->finished++;
	struct ina_operation *operation = operation_of(innet, number);
	uint32_t length = length_of(innet, operation, number);
	uint32_t lkey;
	uint8_t *buffer = receive_buffer_of(innet, operation, number, &lkey);

	innet->awaited_bytes -= length;
	if (length == 0)
		return;
	if (is_fixed(innet, operation, number)) {
		ina_block_float_restore(buffer, length / sizeof(float), *exponent_of(innet, number),
		                        innet->connection.ranks);
		operation->blocks_fixed++;
	} else {
		operation->blocks_float += operation->transfer.fixed;
	}
	if (receives_in_staging(innet, operation, number))
		memcpy(result_of(innet, operation, number), buffer, length);
}

/* A block can go when all ranks' exponent of it has come. */
static bool may_post(struct ina_innet *innet)
{
	const struct ina_operation *operation;

	if (innet->posted >= innet->numbered || !has_place(innet))
		return false;
	operation = operation_of(innet, innet->posted);
	return is_lead(operation, innet->posted) || !operation->transfer.fixed ||
	       innet->posted < innet->received + operation->lead;
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
		                "messages before number %" PRIu64 " cannot be posted: %s",
		                innet->posted, strerror(error));
	return INA_OK;
}

enum ina_status ina_innet_received(struct ina_innet *innet, uint32_t byte_len,
                                   struct ina_failure *failure)
{
	const struct ina_connection_context *connection = &innet->connection;
	uint64_t number = innet->received;
	struct ina_operation *operation = operation_of(innet, number);
	const struct ina_slot *slot = receive_slot(innet, number);
	uint64_t index = number - operation->first;
	uint32_t length = length_of(innet, operation, number);
	struct ina_wire_header expected =
	        ina_message_header(&operation->context, (uint32_t)number, length,
	                           remaining_of(innet, operation, number));
	enum ina_message_match match;
	bool overflow;

	expected.number_type = (uint8_t)number_type_of(innet, operation, number);
	if (operation->transfer.fixed && is_exponent(slot->header.exponent))
		expected.exponent = slot->header.exponent;
	match = ina_message_check(slot, byte_len, &expected, innet->contributors_due,
	                          innet->rank_due);

	if (match == INA_MESSAGE_FOREIGN && slot->header.type == INA_WIRE_LEAVE &&
	    slot->header.job_id == connection->context.job_id)
		return ina_fail(failure, INA_ERR_AGGREGATOR,
		                "the predecessor left the aggregator before message %" PRIu64,
		                index);
	if (match == INA_MESSAGE_FOREIGN)
		return ina_fail(
		        failure, INA_ERR_MISMATCH,
		        "what came as message %" PRIu64 " belongs to another call (%u bytes, %u "
		        "of elements, message number %u; expected %u, %u, %u)",
		        index, byte_len, slot->header.length_bytes, slot->header.message_number,
		        ina_message_bytes(length), length, expected.message_number);
	innet->contributors = slot->trailer.contributors;
	if (match == INA_MESSAGE_RAW && operation->context.type == INA_WIRE_DATA)
		return ina_fail(failure, INA_ERR_AGGREGATOR,
		                "the aggregator dropped out in message %" PRIu64
		                " (%u contributors of %d)",
		                index, slot->trailer.contributors, connection->ranks);
	overflow = (slot->trailer.flags & INA_WIRE_OVERFLOW) != 0;
	operation->overflow |= overflow;
	innet->overflowed[number % (2 * connection->window)] = overflow;
	if (operation->transfer.fixed)
		*exponent_of(innet, number + operation->lead) = slot->header.exponent;
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
	int place = place_of(innet, number);
	const struct ina_operation *operation = place >= 0 ? &innet->operations[place] : NULL;

	if (operation && length_of(innet, operation, number) > 0)
		memcpy(to, result_of(innet, operation, number),
		       length_of(innet, operation, number));
	else
		memcpy(to, staging_of(innet, number), innet->connection.limit_bytes);
	return innet->overflowed[number % (2 * innet->connection.window)];
}

void ina_innet_supply(struct ina_innet *innet, const uint8_t *sum, bool overflow)
{
	uint64_t number = innet->received++;
	struct ina_operation *operation = operation_of(innet, number);

	innet->finished = innet->received;
	operation->overflow |= overflow;
	if (length_of(innet, operation, number) > 0)
		memcpy(result_of(innet, operation, number), sum,
		       length_of(innet, operation, number));
}

void ina_innet_abandon(struct ina_innet *innet, bool ends_connection)
{
	struct ina_innet before = *innet;
	const struct ina_transfer nothing = {0};
	struct ina_failure ignored;

	/* Errors change nothing: the connection is not used again. */
	innet->operation_count = 0;
	innet->expected = innet->posted = innet->numbered;
	innet->received = innet->finished = innet->numbered;
	innet->awaited_bytes = 0;
	ina_innet_start(innet, INA_WIRE_LEAVE, 0, &nothing);
	ina_innet_advance(innet, &ignored);
	before.posted += innet->unacknowledged - before.unacknowledged;
	before.unacknowledged = innet->unacknowledged;
	*innet = before;
	if (ends_connection)
		poll(NULL, 0, PARTING_MS);
}

bool ina_innet_count(const struct ina_innet *innet, struct ina_stats *stats)
{
	const struct ina_operation *operation = ina_innet_oldest(innet);

	stats->messages_aggregated += ina_innet_sums(innet);
	stats->bytes_aggregated += ina_innet_summed_bytes(innet);
	stats->blocks_fixed += operation->blocks_fixed;
	stats->blocks_float += operation->blocks_float;
	return operation->overflow;
}

/* The row of the table of algorithms. */

static bool row_has_room(const void *self)
{
	const struct ina_innet *innet = self;

	/* A message of it would go at once. */
	return ina_innet_is_busy(innet) && innet->operation_count < INA_INNET_OPERATIONS &&
	       innet->posted == innet->numbered && has_place(innet);
}

static enum ina_status row_start(void *self, const struct ina_transfer *transfer,
                                 struct ina_failure *failure)
{
	ina_innet_start(self, INA_WIRE_DATA, 0, transfer);
	return ina_innet_advance(self, failure);
}

/* Nothing but a sum helps: neither may more be sent, nor will an acknowledgement allow it. */
static bool awaits_message(const struct ina_innet *innet)
{
	return ina_innet_is_busy(innet) && innet->received < innet->posted &&
	       innet->unacknowledged < innet->connection.window;
}

/* After completions: the registrations that they free, and what can be posted. */
static enum ina_status go_on(struct ina_innet *innet, enum ina_status status, int count,
                             bool *moved, struct ina_failure *failure)
{
	ina_memory_release(innet->memory, ina_innet_acknowledged(innet));
	*moved = count > 0;
	return status == INA_OK && count > 0 ? ina_innet_advance(innet, failure) : status;
}

static enum ina_status row_advance(void *self, bool before_wait, bool *moved,
                                   struct ina_failure *failure)
{
	struct ina_innet *innet = self;
	int count;
	enum ina_status status = ina_completions_take(innet->completions, before_wait,
	                                              awaits_message(innet), &count, failure);

	return go_on(innet, status, count, moved, failure);
}

static enum ina_status row_wait(void *self, int timeout_ms, bool *moved,
                                struct ina_failure *failure)
{
	struct ina_innet *innet = self;
	int count;
	enum ina_status status = ina_completions_sleep(innet->completions, awaits_message(innet),
	                                               timeout_ms, &count, failure);

	return go_on(innet, status, count, moved, failure);
}

/* What is not summed, a receiver may still want from the sender's memory. */
static bool row_is_done(const void *self)
{
	const struct ina_innet *innet = self;
	const struct ina_operation *operation = ina_innet_oldest(innet);

	return ina_innet_is_summed(innet) &&
	       (innet->ends_early ||
	        ina_innet_acknowledged(innet) >= operation->first + operation->count);
}

static bool row_end(void *self, struct ina_stats *stats, uint64_t *until)
{
	struct ina_innet *innet = self;
	const struct ina_operation *operation = ina_innet_oldest(innet);
	bool overflow = ina_innet_count(innet, stats);

	*until = operation->first + operation->count;
	innet->oldest = (innet->oldest + 1) % INA_INNET_OPERATIONS;
	innet->operation_count--;
	return overflow;
}

static void row_abort(void *self)
{
	struct ina_innet *innet = self;

	ina_innet_abandon(innet, true);
	ina_fabric_silence(innet->completions->fabric);
	ina_innet_stop(innet);
}

static int row_pollfds(const void *self, struct pollfd *fds)
{
	return ina_fabric_pollfds(((const struct ina_innet *)self)->completions->fabric, fds);
}

static void row_arm(void *self)
{
	ina_completions_arm(((struct ina_innet *)self)->completions);
}

static uint32_t row_position(const void *self)
{
	return ina_innet_is_busy(self) ? (uint32_t)ina_innet_sums(self) : 0;
}

static void row_explain_timeout(const void *self, int timeout_ms, struct ina_failure *failure)
{
	const struct ina_innet *innet = self;

	if (!ina_innet_is_summed(innet))
		ina_fail(failure, INA_ERR_TIMEOUT,
		         "got no sum of message %" PRIu64 " of %" PRIu64 " in %d ms",
		         ina_innet_sums(innet), ina_innet_oldest(innet)->count, timeout_ms);
	else
		ina_fail(failure, INA_ERR_TIMEOUT, "got no acknowledgement from rank %d in %d ms",
		         ina_successor(innet->connection.rank, innet->connection.ranks),
		         timeout_ms);
}

const struct ina_algorithm_row ina_in_network_algorithm = {
        .registers = true,
        .has_room = row_has_room,
        .start = row_start,
        .advance = row_advance,
        .wait = row_wait,
        .is_done = row_is_done,
        .end = row_end,
        .abort = row_abort,
        .pollfds = row_pollfds,
        .arm = row_arm,
        .position = row_position,
        .explain_timeout = row_explain_timeout,
};
