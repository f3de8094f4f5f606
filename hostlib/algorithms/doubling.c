/* SPDX-License-Identifier: Apache-2.0 */
/* Recursive doubling, and recursive halving and doubling. */
#include "doubling.h"

#include <string.h>

#include "hostlib/elements/reduce.h"

/*
 * The most sends to a partner that may be incomplete: some acknowledgements may be lost, but not
 * all.
 */
#define UNFINISHED_MAX 8

/* Header, elements and trailer in one piece, in whole cache lines. */
#define BYTES_OF_PLACE(element_bytes)                                                              \
	(((element_bytes) + INA_WIRE_ALIGNMENT + (uint32_t)INA_MESSAGE_FRAMING + 63) / 64 * 64)
#define PLACE_BYTES BYTES_OF_PLACE(INA_DOUBLING_BYTES)

/*
 * The bytes that a rank sends in an all-reduce. Doubling needs a place for each step. Halving and
 * doubling sends at most twice the elements.
 */
#define DOUBLING_SENT_BYTES ((INA_PARTNERS_MAX + 2) * PLACE_BYTES)
#define HALVING_SENT_BYTES                                                                         \
	(2 * INA_HALVING_BYTES + INA_DOUBLING_STEPS_MAX * BYTES_OF_PLACE(INA_WIRE_ALIGNMENT))
#define SENT_BYTES                                                                                 \
	(DOUBLING_SENT_BYTES > HALVING_SENT_BYTES ? DOUBLING_SENT_BYTES : HALVING_SENT_BYTES)

/* The longest message of a partner. One half may be longer than the other by one element. */
static uint32_t receive_bytes(int partner)
{
	uint32_t half = BYTES_OF_PLACE((INA_HALVING_BYTES >> (partner + 1)) + INA_WIRE_ALIGNMENT);

	return half > PLACE_BYTES ? half : PLACE_BYTES;
}

/* The offset of a partner's receive places. */
static size_t receives_at(int partner)
{
	size_t bytes = 0;

	for (int p = 0; p < partner; p++)
		bytes += 2 * (size_t)receive_bytes(p);
	return bytes;
}

size_t ina_doubling_memory(int partner_count)
{
	return receives_at(partner_count) + 2 * (size_t)SENT_BYTES;
}

static uint8_t *elements_in(uint8_t *message)
{
	return message + sizeof(struct ina_wire_header);
}

/* The place in which message `number` of a partner is received. */
static uint8_t *received_at(const struct ina_doubling *doubling, int partner, uint32_t number)
{
	return doubling->memory + receives_at(partner) +
	       (size_t)(number % 2) * receive_bytes(partner);
}

/* The memory for messages that this rank sends in this all-reduce. */
static uint8_t *sent_from(const struct ina_doubling *doubling)
{
	return doubling->memory + receives_at(doubling->partner_count) +
	       (size_t)(doubling->calls % 2) * SENT_BYTES;
}

/* Doubling: the partial result before a step, which may be the message that is sent in it. */
static uint8_t *partial_at(const struct ina_doubling *doubling, int step)
{
	return sent_from(doubling) + (size_t)step * PLACE_BYTES;
}

static bool halves(const struct ina_doubling *doubling)
{
	return doubling->steps == &doubling->halving;
}

static bool widens(const struct ina_doubling *doubling)
{
	return ina_type_widens(doubling->transfer.type, doubling->transfer.op);
}

static size_t count_of(const struct ina_doubling *doubling)
{
	return doubling->transfer.total_bytes / doubling->transfer.element_bytes;
}

static uint32_t length_of(const struct ina_doubling *doubling)
{
	return (uint32_t)ina_doubling_length(&doubling->transfer);
}

/* A part of the elements. */
struct part {
	uint64_t at; /* in bytes */
	uint32_t bytes;
};

/*
 * Halving: splits the part that both partners have, and returns the lower or the upper rank's half.
 */
static struct part half_of(const struct ina_doubling *doubling, struct part both, bool is_lower)
{
	uint64_t elements = both.bytes / doubling->transfer.element_bytes;
	uint32_t lower = (uint32_t)((elements + 1) / 2 * doubling->transfer.element_bytes);

	return is_lower ? (struct part){both.at, lower}
	                : (struct part){both.at + lower, both.bytes - lower};
}

/* Halving: the part that this rank keeps or sends in the exchange with a partner. */
static struct part part_of(const struct ina_doubling *doubling, int partner, bool keeps)
{
	struct part part = {0, length_of(doubling)};
	int rank = (int)doubling->context.rank;

	for (int p = 0; p < partner; p++)
		part = half_of(doubling, part, rank < doubling->partners[p].rank);
	return half_of(doubling, part, (rank < doubling->partners[partner].rank) == keeps);
}

/* The parts that are sent and received in a step: all elements, or halves. */
static struct part sent_in(const struct ina_doubling *doubling,
                           const struct ina_doubling_step *step)
{
	if (!halves(doubling))
		return (struct part){0, length_of(doubling)};
	return part_of(doubling, step->partner, step->ends);
}

static struct part come_in(const struct ina_doubling *doubling,
                           const struct ina_doubling_step *step)
{
	if (!halves(doubling))
		return (struct part){0, length_of(doubling)};
	return part_of(doubling, step->partner, !step->ends);
}

/*
 * put_own() stores this rank's elements before the first step; take_result() copies the result
 * after the last one.
 */
static void put_own(struct ina_doubling *doubling)
{
	const struct ina_transfer *transfer = &doubling->transfer;
	uint8_t *own = elements_in(partial_at(doubling, 0));

	if (halves(doubling)) {
		if (transfer->recv != transfer->send)
			memcpy(transfer->recv, transfer->send, transfer->total_bytes);
	} else if (widens(doubling))
		ina_widen(own, transfer->send, count_of(doubling), transfer->type);
	else
		memcpy(own, transfer->send, transfer->total_bytes);
}

static void take_result(struct ina_doubling *doubling)
{
	const struct ina_transfer *transfer = &doubling->transfer;
	const uint8_t *result = elements_in(partial_at(doubling, doubling->partial));

	if (widens(doubling))
		ina_round(transfer->recv, result, count_of(doubling), transfer->type);
	else
		memcpy(transfer->recv, result, transfer->total_bytes);
}

static enum ina_status post_receive(const struct ina_doubling *doubling, int partner,
                                    uint32_t number, struct ina_failure *failure)
{
	struct ibv_sge sge = {.addr = (uintptr_t)received_at(doubling, partner, number),
	                      .length = receive_bytes(partner),
	                      .lkey = doubling->lkey};
	struct ibv_recv_wr request = {
	        .wr_id = ina_work_id(INA_WORK_PARTNER_RECEIVE, (uint32_t)partner),
	        .sg_list = &sge,
	        .num_sge = 1,
	};
	int error = ina_queue_pair_receive(doubling->partners[partner].qp, &request);

	return error == 0
	               ? INA_OK
	               : ina_fail(failure, INA_ERR_DEVICE, "cannot post a receive for rank %d: %s",
	                          doubling->partners[partner].rank, strerror(error));
}

/*
 * If this rank has a partner outside of the power of two, the first step receives that partner's
 * elements and the last one returns the result; or the other way round.
 */
static void make_steps(struct ina_doubling *doubling, bool adds, bool is_added)
{
	struct ina_doubling_steps *steps = &doubling->doubling;
	int first = adds || is_added;

	if (adds || is_added)
		steps->list[steps->count++] =
		        (struct ina_doubling_step){.sends = is_added, .receives = adds};
	for (int p = first; p < doubling->partner_count; p++)
		steps->list[steps->count++] =
		        (struct ina_doubling_step){.partner = p, .sends = true, .receives = true};
	if (adds || is_added)
		steps->list[steps->count++] = (struct ina_doubling_step){
		        .sends = adds, .receives = is_added, .ends = is_added};
}

/* Halving in the order of partners, then doubling in reverse order. */
static void make_halving_steps(struct ina_doubling *doubling)
{
	struct ina_doubling_steps *steps = &doubling->halving;

	for (int p = 0; p < doubling->partner_count; p++)
		steps->list[steps->count++] =
		        (struct ina_doubling_step){.partner = p, .sends = true, .receives = true};
	for (int p = doubling->partner_count; p-- > 0;)
		steps->list[steps->count++] = (struct ina_doubling_step){
		        .partner = p, .sends = true, .receives = true, .ends = true};
}

enum ina_status ina_doubling_open(struct ina_doubling *doubling,
                                  const struct ina_transport *transport,
                                  const struct ina_message_context *context, uint8_t *memory,
                                  uint32_t lkey, struct ina_failure *failure)
{
	int ranks[INA_PARTNERS_MAX];
	bool adds;
	bool is_added;
	enum ina_status status = INA_OK;

	*doubling = (struct ina_doubling){.context = *context,
	                                  .lkey = lkey,
	                                  .memory = memory,
	                                  .partner_count = transport->partner_count};
	doubling->steps = &doubling->doubling;
	if (transport->partner_count == 0)
		return INA_OK;
	ina_partners(transport->rank, transport->ranks, ranks, &adds, &is_added);
	make_steps(doubling, adds, is_added);
	if ((transport->ranks & (transport->ranks - 1)) == 0)
		make_halving_steps(doubling);
	for (int p = 0; p < transport->partner_count && status == INA_OK; p++) {
		doubling->partners[p] = (struct ina_doubling_partner){
		        .qp = transport->partners[p].id->qp, .rank = transport->partners[p].rank};
		for (uint32_t number = 0; number < 2 && status == INA_OK; number++)
			status = post_receive(doubling, p, number, failure);
	}
	return status;
}

void ina_doubling_start(struct ina_doubling *doubling, const struct ina_transfer *transfer,
                        uint32_t flags)
{
	struct ina_message_context *context = &doubling->context;

	context->type = INA_WIRE_DATA;
	context->number_type = transfer->number_type;
	context->operation = (uint8_t)transfer->op;
	context->exponent = 0;
	doubling->transfer = *transfer;
	doubling->steps = length_of(doubling) <= INA_DOUBLING_BYTES ? &doubling->doubling
	                                                            : &doubling->halving;
	doubling->calls++;
	doubling->step = 0;
	doubling->has_sent = false;
	doubling->partial = 0;
	doubling->copied = 0;
	doubling->flags = flags;
	doubling->came = 0;
	if (transfer->total_bytes > 0)
		put_own(doubling);
}

/* The message of a step, with its elements filled in. */
static uint8_t *fill_message(struct ina_doubling *doubling, struct part part)
{
	uint8_t *message;

	if (!halves(doubling))
		return partial_at(doubling, doubling->partial);
	message = sent_from(doubling) + doubling->copied;
	doubling->copied += BYTES_OF_PLACE(part.bytes);
	memcpy(elements_in(message), doubling->transfer.recv + part.at, part.bytes);
	return message;
}

static enum ina_status send_part(struct ina_doubling *doubling,
                                 const struct ina_doubling_step *step, struct ina_failure *failure)
{
	struct ina_doubling_partner *partner = &doubling->partners[step->partner];
	struct part part = sent_in(doubling, step);
	uint8_t *message = fill_message(doubling, part);
	struct ina_slot slot = {0};
	struct ibv_sge sge = {.addr = (uintptr_t)message,
	                      .length = ina_message_bytes(part.bytes),
	                      .lkey = doubling->lkey};
	struct ibv_send_wr request = {
	        .wr_id = ina_work_id(INA_WORK_PARTNER_SEND, (uint32_t)step->partner),
	        .sg_list = &sge,
	        .num_sge = 1,
	        .opcode = IBV_WR_SEND,
	        .send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
	};
	int error;

	ina_message_frame(&slot, &doubling->context, partner->sent++, part.bytes,
	                  length_of(doubling) + doubling->transfer.mark, doubling->flags);
	memcpy(message, &slot.header, sizeof(slot.header));
	memset(elements_in(message) + part.bytes, 0, ina_wire_padding(part.bytes));
	memcpy(elements_in(message) + part.bytes + ina_wire_padding(part.bytes), &slot.trailer,
	       sizeof(slot.trailer));
	partner->unfinished++;
	error = ina_queue_pair_send(partner->qp, &request);
	return error == 0 ? INA_OK
	                  : ina_fail(failure, INA_ERR_DEVICE, "cannot post a send to rank %d: %s",
	                             partner->rank, strerror(error));
}

/* Combines the two parts. The lower rank's part is the first operand. */
static void combine(struct ina_doubling *doubling, uint8_t *result, const uint8_t *received,
                    uint32_t bytes, bool is_lower)
{
	const struct ina_transfer *transfer = &doubling->transfer;
	const uint8_t *mine =
	        halves(doubling) ? result : elements_in(partial_at(doubling, doubling->partial));
	const struct ina_operand own = {mine, widens(doubling)};
	const struct ina_operand other = {received, widens(doubling)};
	size_t count = bytes / transfer->element_bytes / (widens(doubling) ? 2 : 1);

	if (ina_combine_wide(result, widens(doubling), is_lower ? other : own,
	                     is_lower ? own : other, count, transfer->type, transfer->op))
		doubling->flags |= INA_WIRE_OVERFLOW;
}

/* Takes the elements of a received message. If the result is given, it is already in memory. */
static void take_elements(struct ina_doubling *doubling, const struct ina_doubling_step *step,
                          const uint8_t *received)
{
	struct part part = come_in(doubling, step);
	uint8_t *result = halves(doubling) ? doubling->transfer.recv + part.at
	                                   : elements_in(partial_at(doubling, doubling->step + 1));

	if (halves(doubling) && doubling->transfer.is_given)
		return;
	if (step->ends)
		memcpy(result, received, part.bytes);
	else
		combine(doubling, result, received, part.bytes,
		        doubling->partners[step->partner].rank < (int)doubling->context.rank);
}

static enum ina_status take(struct ina_doubling *doubling, const struct ina_doubling_step *step,
                            struct ina_failure *failure)
{
	struct ina_doubling_partner *partner = &doubling->partners[step->partner];
	uint8_t *message = received_at(doubling, step->partner, partner->taken);
	uint32_t byte_len = partner->byte_len[partner->taken % 2];
	uint32_t length = come_in(doubling, step).bytes;
	struct ina_wire_header expected =
	        ina_message_header(&doubling->context, partner->taken, length,
	                           length_of(doubling) + doubling->transfer.mark);
	struct ina_slot slot = {0};

	if (byte_len >= INA_MESSAGE_FRAMING) {
		memcpy(&slot.header, message, sizeof(slot.header));
		memcpy(&slot.trailer, message + byte_len - sizeof(slot.trailer),
		       sizeof(slot.trailer));
	}
	if (ina_message_check(&slot, byte_len, &expected, 1, (uint32_t)partner->rank) !=
	    INA_MESSAGE_GOOD)
		return ina_fail(failure, INA_ERR_MISMATCH,
		                "the message from rank %d belongs to another call (%u bytes; "
		                "expected %u)",
		                partner->rank, slot.header.length_bytes, length);
	doubling->flags |= slot.trailer.flags;
	take_elements(doubling, step, elements_in(message));
	doubling->partial = doubling->step + 1;
	doubling->came++;
	partner->taken++;
	return post_receive(doubling, step->partner, partner->taken + 1, failure);
}

static bool may_send(const struct ina_doubling *doubling, const struct ina_doubling_step *step)
{
	return doubling->partners[step->partner].unfinished < UNFINISHED_MAX;
}

enum ina_status ina_doubling_advance(struct ina_doubling *doubling, struct ina_failure *failure)
{
	while (!ina_doubling_done(doubling)) {
		const struct ina_doubling_step *step = &doubling->steps->list[doubling->step];
		const struct ina_doubling_partner *partner = &doubling->partners[step->partner];
		enum ina_status status = INA_OK;

		if (step->sends && !doubling->has_sent) {
			if (!may_send(doubling, step))
				return INA_OK;
			status = send_part(doubling, step, failure);
			doubling->has_sent = true;
		}
		if (status == INA_OK && step->receives) {
			if (partner->arrived == partner->taken)
				return INA_OK;
			status = take(doubling, step, failure);
		}
		if (status != INA_OK)
			return status;
		doubling->step++;
		doubling->has_sent = false;
		if (ina_doubling_done(doubling) && length_of(doubling) > 0 && !halves(doubling) &&
		    !doubling->transfer.is_given)
			take_result(doubling);
	}
	return INA_OK;
}

void ina_doubling_received(struct ina_doubling *doubling, uint32_t number, uint32_t byte_len)
{
	struct ina_doubling_partner *partner = &doubling->partners[number];

	partner->byte_len[partner->arrived++ % 2] = byte_len;
}

void ina_doubling_sent(struct ina_doubling *doubling, uint32_t number)
{
	doubling->partners[number].unfinished--;
}

bool ina_doubling_awaits_message(const struct ina_doubling *doubling)
{
	const struct ina_doubling_step *step = &doubling->steps->list[doubling->step];

	return ina_doubling_done(doubling) || doubling->has_sent || !step->sends ||
	       may_send(doubling, step);
}
