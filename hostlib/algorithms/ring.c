/* SPDX-License-Identifier: Apache-2.0 */
/* The ring all-reduce. */
#include "ring.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "hostlib/elements/reduce.h"

static int first_step(const struct ina_ring *ring)
{
	return ring->transfer.part == INA_GATHER ? ring->connection.ranks - 1 : 0;
}

static int end_of_steps(const struct ina_ring *ring)
{
	return (ring->transfer.part == INA_SCATTER ? 1 : 2) * (ring->connection.ranks - 1);
}

static bool reduces(const struct ina_ring *ring, int step)
{
	return step < ring->connection.ranks - 1;
}

static bool widens(const struct ina_ring *ring)
{
	return ina_type_widens(ring->transfer.type, ring->transfer.op);
}

/*
 * Are the messages of a step wide? In a step that reduces, they are partial results of step + 1
 * ranks.
 */
static bool is_wide(const struct ina_ring *ring, int step)
{
	return widens(ring) && step > 0 && reduces(ring, step);
}

/* The most bytes of the caller's elements in a message, whether it is wide or not. */
static uint32_t slice_bytes(const struct ina_ring *ring)
{
	return ring->limit_bytes / (widens(ring) ? 2 : 1);
}

/* A chunk is cut into at least this number of messages, provided that these are whole packets. */
#define CHUNK_MESSAGES 8u

/*
 * Chooses the length of the messages from the length of the transfer, so all ranks choose the same.
 * The bytes under way stay the same, if there are slots for that number of messages.
 */
static void fit_messages(struct ina_ring *ring)
{
	const struct ina_connection_context *connection = &ring->connection;
	uint64_t chunk =
	        ring->transfer.total_bytes / (uint64_t)connection->ranks * (widens(ring) ? 2 : 1);
	uint32_t message = connection->limit_bytes + (uint32_t)INA_MESSAGE_FRAMING;

	ring->window = connection->window;
	while (chunk < (uint64_t)CHUNK_MESSAGES * message && connection->path_mtu > 0 &&
	       message % (2 * connection->path_mtu) == 0) {
		message /= 2;
		ring->window *= 2;
	}
	if (ring->window > ina_window_most(connection->window))
		ring->window = ina_window_most(connection->window);
	ring->limit_bytes = message - (uint32_t)INA_MESSAGE_FRAMING;
}

/*
 * The offset and the length of a chunk in bytes. Each chunk has count / n elements; the first ones
 * have one more. Between the two halves rank r has chunk r + 1; in a reduce-scatter or all-gather,
 * that chunk is block r.
 */
static uint64_t chunk_at(const struct ina_ring *ring, int chunk, uint64_t *bytes)
{
	uint64_t element_bytes = ring->transfer.element_bytes;
	uint64_t elements = ring->transfer.total_bytes / element_bytes;
	uint64_t ranks = (uint64_t)ring->connection.ranks;
	bool is_half = ring->transfer.part != INA_WHOLE;
	uint64_t number = ((uint64_t)chunk + (is_half ? ranks - 1 : 0)) % ranks;
	uint64_t share = elements / ranks;
	uint64_t extra = elements % ranks;

	*bytes = (share + (number < extra)) * element_bytes;
	return (share * number + (number < extra ? number : extra)) * element_bytes;
}

static int chunk_of(const struct ina_ring *ring, const struct ina_ring_cursor *cursor)
{
	int ranks = ring->connection.ranks;

	return ((ring->connection.rank - cursor->shift - cursor->step) % ranks + ranks + ranks) %
	       ranks;
}

static uint64_t slices_of(const struct ina_ring *ring, const struct ina_ring_cursor *cursor)
{
	uint64_t bytes;

	chunk_at(ring, chunk_of(ring, cursor), &bytes);
	return ina_message_count(bytes, slice_bytes(ring));
}

/*
 * The offset of the cursor's message in a buffer, and the message's length, which is doubled if it
 * is wide.
 */
static uint64_t message_at(const struct ina_ring *ring, const struct ina_ring_cursor *cursor,
                           uint32_t *length_bytes)
{
	uint64_t bytes;
	uint64_t start = chunk_at(ring, chunk_of(ring, cursor), &bytes);

	*length_bytes = ina_message_length(bytes, slice_bytes(ring), cursor->slice) *
	                (is_wide(ring, cursor->step) ? 2 : 1);
	return start + cursor->slice * slice_bytes(ring);
}

static void next(const struct ina_ring *ring, struct ina_ring_cursor *cursor)
{
	cursor->index++;
	if (++cursor->slice == slices_of(ring, cursor)) {
		cursor->slice = 0;
		cursor->step++;
	}
}

static uint64_t count_messages(const struct ina_ring *ring, int shift)
{
	struct ina_ring_cursor cursor = {.shift = shift, .step = first_step(ring)};
	uint64_t count = 0;

	for (; cursor.step < end_of_steps(ring); cursor.step++)
		count += slices_of(ring, &cursor);
	return count;
}

static int post_credit_receive(const struct ina_ring *ring)
{
	struct ibv_recv_wr request = {
	        .wr_id = ina_work_id(INA_WORK_CREDIT_RECEIVE, ring->connection.epoch)};

	return ina_queue_pair_receive(ring->connection.tx, &request);
}

enum ina_status ina_ring_open(struct ina_ring *ring, struct ina_failure *failure)
{
	/*
	 * Each credit that has not been read allows another message, so there are never more than a
	 * window of them.
	 */
	for (uint32_t i = 0; i < ina_window_most(ring->connection.window) + 1; i++) {
		int error = post_credit_receive(ring);

		if (error != 0)
			return ina_fail(failure, INA_ERR_DEVICE,
			                "cannot post a receive for credits: %s", strerror(error));
	}
	return INA_OK;
}

void ina_ring_start(struct ina_ring *ring, const struct ina_transfer *transfer)
{
	struct ina_message_context *context = &ring->connection.context;

	context->type = INA_WIRE_DATA;
	context->number_type = transfer->number_type;
	context->operation = (uint8_t)transfer->op;
	context->exponent = 0;
	ring->transfer = *transfer;
	fit_messages(ring);
	ring->out = (struct ina_ring_cursor){.shift = 0, .step = first_step(ring)};
	ring->in_post = (struct ina_ring_cursor){.shift = 1, .step = first_step(ring)};
	ring->in = ring->in_post;
	ring->out_count = count_messages(ring, 0);
	ring->in_count = count_messages(ring, 1);
	ring->own_count = slices_of(ring, &ring->out);
	ring->sent = 0;
	ring->overflow = false;
	ring->rejoin = false;
}

/*
 * Each message has the bytes of the whole collective, so the first message shows that ranks
 * disagree on the count.
 */
static uint32_t total_of(const struct ina_ring *ring)
{
	return (uint32_t)ring->transfer.total_bytes + ring->transfer.mark;
}

/* Are the messages of a step received in staging memory instead of the result? */
static bool is_staged(const struct ina_ring *ring, int step)
{
	return reduces(ring, step) || ring->transfer.copies_recv || ring->transfer.is_given;
}

static int post_receive(struct ina_ring *ring)
{
	const struct ina_connection_context *connection = &ring->connection;
	uint64_t place = ring->in_post.index % ina_ring_receives(ring->window);
	uint32_t length;
	uint64_t offset = message_at(ring, &ring->in_post, &length);
	uint8_t *buffer = ring->transfer.recv + offset;
	uint32_t lkey = ring->transfer.recv_lkey;

	if (is_staged(ring, ring->in_post.step)) {
		buffer = connection->staging + place * ring->limit_bytes;
		lkey = connection->lkey;
	}
	return ina_post_receive(connection, INA_WORK_RING_RECEIVE, &connection->rx_slots[place],
	                        buffer, lkey, length);
}

static int post_credit(struct ina_ring *ring)
{
	struct ibv_send_wr request = {
	        .wr_id = ina_work_id(INA_WORK_CREDIT_SEND, ring->connection.epoch),
	        .opcode = IBV_WR_SEND_WITH_IMM,
	        .send_flags = IBV_SEND_SIGNALED,
	        .imm_data = htonl((uint32_t)ring->receives),
	};

	return ina_queue_pair_send(ring->connection.rx, &request);
}

static int add_send(struct ina_ring *ring, struct ina_batch *batch)
{
	const struct ina_connection_context *connection = &ring->connection;
	const struct ina_transfer *transfer = &ring->transfer;
	struct ina_slot *slot = &connection->tx_slots[ring->out.index % ring->window];
	uint32_t length;
	uint64_t offset = message_at(ring, &ring->out, &length);
	const uint8_t *source = transfer->recv + offset;
	uint32_t lkey = transfer->recv_lkey;
	bool copies = transfer->copies_recv;

	if (ring->out.step == 0) {
		source = transfer->send + offset;
		lkey = transfer->send_lkey;
		copies = transfer->copies_send;
	} else if (is_wide(ring, ring->out.step)) {
		source = transfer->wide + 2 * offset;
		lkey = transfer->wide_lkey;
		copies = transfer->copies_wide;
	}

	if (copies && length > 0) {
		uint8_t *copy =
		        connection->copies + ring->out.index % ring->window * ring->limit_bytes;

		source = memcpy(copy, source, length);
		lkey = connection->lkey;
	}
	ina_message_frame(slot, &connection->context, (uint32_t)ring->sends, length, total_of(ring),
	                  (ring->overflow ? INA_WIRE_OVERFLOW : 0u) |
	                          (ring->rejoin ? INA_WIRE_REJOIN : 0u));
	return ina_post_send(connection, batch, INA_WORK_RING_SEND, slot, source, lkey, length);
}

/*
 * Posts receives for two windows, and announces them to the predecessor a window at a time. So the
 * predecessor always has credit for a window.
 */
static int advance_receives(struct ina_ring *ring)
{
	uint32_t window = ring->window;
	uint32_t untold;

	while (ring->in_post.index < ring->in_count &&
	       ring->in_post.index - ring->in.index < ina_ring_receives(window)) {
		int error = post_receive(ring);

		if (error != 0)
			return error;
		ring->receives++;
		next(ring, &ring->in_post);
	}
	untold = (uint32_t)ring->receives - ring->announced;
	if (untold == 0 || ring->credit_sends == INA_RING_CREDIT_SENDS_MAX ||
	    (untold < window && ring->in_post.index < ring->in_count))
		return 0;
	ring->announced = (uint32_t)ring->receives;
	ring->credit_sends++;
	return post_credit(ring);
}

/* Does the successor's credit allow another message? */
static bool has_credit(const struct ina_ring *ring)
{
	return (int32_t)(ring->credit - (uint32_t)ring->sends) > 0;
}

/* Have enough messages arrived from the predecessor? */
static bool is_in_step(const struct ina_ring *ring)
{
	uint64_t ahead = (ring->window + 1) / 2;

	return ring->out.index < ring->in.index + ring->own_count &&
	       (ring->out.index < ring->in.index + ahead || ring->in.index == ring->in_count);
}

static bool may_send(const struct ina_ring *ring)
{
	return ring->out.index < ring->out_count && ring->out.index - ring->sent < ring->window &&
	       is_in_step(ring) && has_credit(ring);
}

enum ina_status ina_ring_advance(struct ina_ring *ring, struct ina_failure *failure)
{
	struct ina_batch batch;
	int error = advance_receives(ring);

	batch.count = 0;
	while (error == 0 && may_send(ring)) {
		error = add_send(ring, &batch);
		ring->sends++;
		next(ring, &ring->out);
	}
	if (error == 0)
		error = ina_post_batch(&ring->connection, &batch);
	if (error != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "cannot post a send on the ring: %s",
		                strerror(error));
	return INA_OK;
}

/* Adds this rank's elements to those of a message; the next step sends the sum. */
static void reduce(struct ina_ring *ring, const uint8_t *message, uint32_t length)
{
	const struct ina_transfer *transfer = &ring->transfer;
	uint32_t ignored;
	uint64_t offset = message_at(ring, &ring->in, &ignored);
	bool came_wide = is_wide(ring, ring->in.step);
	bool goes_wide = is_wide(ring, ring->in.step + 1);
	uint8_t *result = goes_wide ? transfer->wide + 2 * offset : transfer->recv + offset;

	if (ina_combine_wide(result, goes_wide, (struct ina_operand){message, came_wide},
	                     (struct ina_operand){transfer->send + offset, false},
	                     length / transfer->element_bytes / (came_wide ? 2 : 1), transfer->type,
	                     transfer->op))
		ring->overflow = true;
}

/* Copies a received message into the result, unless it was received there. */
static void take(struct ina_ring *ring, const uint8_t *message, uint32_t length)
{
	const struct ina_transfer *transfer = &ring->transfer;
	uint32_t ignored;

	if (transfer->is_given)
		return;
	if (reduces(ring, ring->in.step))
		reduce(ring, message, length);
	else if (transfer->copies_recv && length > 0)
		memcpy(transfer->recv + message_at(ring, &ring->in, &ignored), message, length);
}

enum ina_status ina_ring_received(struct ina_ring *ring, uint32_t byte_len,
                                  struct ina_failure *failure)
{
	const struct ina_connection_context *connection = &ring->connection;
	uint64_t place = ring->in.index % ina_ring_receives(ring->window);
	const struct ina_slot *slot = &connection->rx_slots[place];
	int predecessor = ina_predecessor(connection->rank, connection->ranks);
	uint32_t length;
	struct ina_wire_header expected;

	message_at(ring, &ring->in, &length);
	expected = ina_message_header(&connection->context, (uint32_t)ring->arrived, length,
	                              total_of(ring));
	if (ina_message_check(slot, byte_len, &expected, 1, (uint32_t)predecessor) !=
	    INA_MESSAGE_GOOD)
		return ina_fail(
		        failure, INA_ERR_MISMATCH,
		        "rank %d sent message %" PRIu64
		        " of the ring, which belongs to another call (%u bytes of %u in total; "
		        "expected %u of "
		        "%u)",
		        predecessor, ring->in.index, slot->header.length_bytes,
		        slot->header.remaining_bytes, length, total_of(ring));
	if (slot->trailer.flags & INA_WIRE_OVERFLOW)
		ring->overflow = true;
	if (slot->trailer.flags & INA_WIRE_REJOIN)
		ring->rejoin = true;
	take(ring, connection->staging + place * ring->limit_bytes, length);
	ring->arrived++;
	next(ring, &ring->in);
	return INA_OK;
}

void ina_ring_sent(struct ina_ring *ring)
{
	ring->sent++;
}

enum ina_status ina_ring_credited(struct ina_ring *ring, uint32_t credit,
                                  struct ina_failure *failure)
{
	int error = post_credit_receive(ring);

	ring->credit = credit;
	if (error != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "cannot post a receive for credits: %s",
		                strerror(error));
	return INA_OK;
}

void ina_ring_credit_sent(struct ina_ring *ring)
{
	ring->credit_sends--;
}

bool ina_ring_awaits_message(const struct ina_ring *ring)
{
	return ring->in.index < ring->in_count && ring->out.index - ring->sent < ring->window &&
	       ring->credit_sends < INA_RING_CREDIT_SENDS_MAX &&
	       (ring->out.index == ring->out_count || has_credit(ring));
}
