/* SPDX-License-Identifier: Apache-2.0 */
/* Implements collectives as all-reduces. */
#include "collective.h"

#include <string.h>

#include "hostlib/elements/average.h"
#include "hostlib/elements/number.h"

/*
 * How often `count` elements are at send or recv: not at all, once, once for each rank, or only at
 * the root.
 */
enum extent { NONE, ONE, ALL, AT_ROOT };

static const struct {
	enum extent send;
	enum extent recv;
} EXTENTS[] = {
        [INA_CALL_ALLREDUCE] = {ONE, ONE},  [INA_CALL_REDUCE_SCATTER] = {ALL, ONE},
        [INA_CALL_ALL_GATHER] = {ONE, ALL}, [INA_CALL_BROADCAST] = {AT_ROOT, ONE},
        [INA_CALL_REDUCE] = {ONE, AT_ROOT}, [INA_CALL_BARRIER] = {NONE, NONE},
};

size_t ina_collective_bytes(const struct ina_collective *what)
{
	return what->count * ina_type_bytes(what->type);
}

static size_t extent_bytes(const struct ina_comm *comm, const struct ina_collective *what,
                           enum extent extent)
{
	if (extent == NONE || (extent == AT_ROOT && comm->rank != what->root))
		return 0;
	return ina_collective_bytes(what) * (extent == ALL ? (size_t)comm->ranks : 1);
}

size_t ina_collective_send_bytes(const struct ina_comm *comm, const struct ina_collective *what)
{
	return extent_bytes(comm, what, EXTENTS[what->kind].send);
}

size_t ina_collective_recv_bytes(const struct ina_comm *comm, const struct ina_collective *what)
{
	return extent_bytes(comm, what, EXTENTS[what->kind].recv);
}

/*
 * An average is computed from a sum of other elements (elements/average.h), if there is more than
 * one rank.
 */
static bool averages(const struct ina_comm *comm, const struct ina_collective *what)
{
	return what->op == INA_AVG && comm->ranks > 1;
}

/*
 * The type of the elements that all ranks combine, and their bytes for `bytes` bytes of the
 * caller's elements.
 */
static enum ina_type type_under_way(const struct ina_comm *comm, const struct ina_collective *what)
{
	return averages(comm, what) ? ina_average_type(what->type) : what->type;
}

static size_t bytes_under_way(const struct ina_comm *comm, const struct ina_collective *what,
                              size_t bytes)
{
	if (!averages(comm, what))
		return bytes;
	return bytes / ina_type_bytes(what->type) * ina_average_bytes(what->type);
}

/* Does the collective only move elements, without combining any? */
static bool only_moves(const struct ina_collective *what)
{
	return what->kind == INA_CALL_ALL_GATHER || what->kind == INA_CALL_BROADCAST ||
	       what->kind == INA_CALL_BARRIER;
}

/* A flat communicator with several ranks. On others, the rails or channels carry out the parts. */
static bool is_flat(const struct ina_comm *comm)
{
	return comm->ranks > 1 && !comm->parallel && !comm->channels && !comm->network.plain;
}

/* Is half of the ring enough? Short collectives are carried out as a whole, with fewer messages. */
static bool is_half(const struct ina_comm *comm, const struct ina_collective *what)
{
	return is_flat(comm) &&
	       (what->kind == INA_CALL_REDUCE_SCATTER || what->kind == INA_CALL_ALL_GATHER) &&
	       bytes_under_way(comm, what, ina_collective_bytes(what)) * (size_t)comm->ranks >
	               INA_DOUBLING_BYTES;
}

bool ina_collective_is_apart(const struct ina_comm *comm, const struct ina_collective *what)
{
	/* With the algorithm ring, all calls use the ring, so none needs a second one. */
	if (!is_flat(comm) || comm->settings.options.algorithm == INA_ALGORITHM_RING)
		return false;
	if (is_half(comm, what))
		return true;
	return !only_moves(what) &&
	       ina_number_of_wire(type_under_way(comm, what), what->op) == INA_WIRE_NO_NUMBERS;
}

/*
 * The number type in the messages. If an aggregator can combine the elements, this is the wire's
 * type that it uses for them. Otherwise it is the public number of the type, which differs from all
 * types of the wire.
 */
static uint8_t number_type_of(enum ina_type type, enum ina_op op)
{
	enum ina_wire_number_type number = ina_number_of_wire(type, op);

	return (uint8_t)(number != INA_WIRE_NO_NUMBERS ? (int)number : (int)type);
}

uint32_t ina_collective_mark(const struct ina_collective *what)
{
	if (what->mark != 0)
		return what->mark;
	if (what->kind == INA_CALL_ALLREDUCE &&
	    number_type_of(what->type, what->op) == (uint8_t)what->type &&
	    ina_op_under_way(what->op) == what->op)
		return 0;
	/* 2^32 times the golden ratio: values that differ in a few bits become very different. */
	return ((uint32_t)what->root << 16 | (uint32_t)what->kind << 8 | (uint32_t)what->type << 4 |
	        (uint32_t)what->op) *
	       0x9E3779B1u;
}

static struct ina_transfer make_transfer(const struct ina_request *request, const void *send,
                                         void *recv, size_t bytes, enum ina_type type,
                                         enum ina_op op)
{
	const struct ina_comm *comm = request->comm;

	return (struct ina_transfer){
	        .send = send,
	        .recv = recv,
	        .total_bytes = bytes,
	        .element_bytes = (uint32_t)ina_type_bytes(type),
	        .type = type,
	        .op = ina_op_under_way(op),
	        .number_type = number_type_of(type, op),
	        .mark = ina_collective_mark(&request->what),
	        .fixed = comm->settings.options.fixed_point && !comm->network.plain &&
	                 type == INA_FLOAT32 && ina_op_under_way(op) == INA_SUM && bytes > 0,
	        .is_given = request->what.is_given,
	};
}

/*
 * The transfer in which each rank contributes its elements, and zeros elsewhere; the sum has the
 * elements of all ranks. If the blocks go round the ring as they are, no zeros are needed.
 */
static struct ina_transfer bring(const struct ina_request *request, size_t total, size_t offset,
                                 size_t bytes)
{
	uint8_t *recv = request->what.recv;
	bool half = is_half(request->comm, &request->what);
	struct ina_transfer transfer =
	        make_transfer(request, recv, recv, total, INA_BYTES, INA_SUM);

	transfer.part = half ? INA_GATHER : INA_WHOLE;
	if (total > 0 && !half) {
		memset(recv, 0, offset);
		memset(recv + offset + bytes, 0, total - offset - bytes);
	}
	if (bytes > 0 && request->what.send != recv + offset)
		memcpy(recv + offset, request->what.send, bytes);
	return transfer;
}

/*
 * The root's transfer in a broadcast: the other ranks contribute zeros, so the root has the result
 * already. Its memory may be read-only.
 */
static struct ina_transfer give(const struct ina_request *request, size_t total)
{
	const void *send = request->what.send;
	struct ina_transfer transfer =
	        make_transfer(request, send, (void *)(uintptr_t)send, total, INA_BYTES, INA_SUM);

	transfer.is_given = true;
	return transfer;
}

/*
 * Makes the addends from the elements. If the request stands for several (group.h), those of all
 * members, one after the other.
 */
static void put_addends(const struct ina_request *request, uint8_t *addends)
{
	const struct ina_comm *comm = request->comm;
	const struct ina_request *first = request->members ? request->members : request;

	for (const struct ina_request *r = first; r; r = request->members ? r->next : NULL) {
		const struct ina_collective *what = &r->what;
		size_t bytes = ina_collective_send_bytes(comm, what);

		if (averages(comm, what))
			ina_average_begin(addends, what->send, bytes / ina_type_bytes(what->type),
			                  what->type, comm->ranks);
		else if (bytes > 0)
			memcpy(addends, what->send, bytes);
		addends += bytes_under_way(comm, what, bytes);
	}
}

/* Makes the result from the sums; for a request that stands for several, that of each member. */
static void take_sums(const struct ina_request *request, const uint8_t *sums)
{
	const struct ina_comm *comm = request->comm;
	const struct ina_request *first = request->members ? request->members : request;

	for (const struct ina_request *r = first; r; r = request->members ? r->next : NULL) {
		const struct ina_collective *what = &r->what;
		size_t bytes = ina_collective_recv_bytes(comm, what);

		if (averages(comm, what) && bytes > 0)
			ina_average_end(what->recv, sums, what->count, what->type, comm->ranks);
		else if (bytes > 0 && what->recv != sums)
			memcpy(what->recv, sums, bytes);
		sums += bytes_under_way(comm, what, bytes);
	}
}

/* The memory that receives the result of all ranks' elements; NULL if memory runs out. */
static uint8_t *place_of_sums(struct ina_request *request)
{
	const struct ina_comm *comm = request->comm;
	const struct ina_collective *what = &request->what;
	size_t bytes = bytes_under_way(comm, what, ina_collective_send_bytes(comm, what));

	if (request->members || ina_collective_recv_bytes(comm, what) < bytes)
		return ina_scratch_get(&request->scratch, bytes);
	return what->recv;
}

static enum ina_status begin_to_combine(struct ina_request *request, struct ina_failure *failure)
{
	const struct ina_comm *comm = request->comm;
	const struct ina_collective *what = &request->what;
	size_t bytes = bytes_under_way(comm, what, ina_collective_send_bytes(comm, what));
	uint8_t *sums = place_of_sums(request);
	const void *send = what->send;

	if (!sums && bytes > 0)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for %zu bytes of a %s", bytes,
		                ina_call_name(what->kind));
	if (request->members || averages(comm, what)) {
		/*
		 * A request that begins again has its addends already, perhaps in place of the
		 * elements.
		 */
		if (!request->begun)
			put_addends(request, sums);
		request->begun = true;
		send = sums;
	}
	request->transfer =
	        make_transfer(request, send, sums, bytes, type_under_way(comm, what), what->op);
	request->transfer.part = is_half(comm, what) ? INA_SCATTER : INA_WHOLE;
	return INA_OK;
}

enum ina_status ina_collective_begin(struct ina_request *request, struct ina_failure *failure)
{
	const struct ina_comm *comm = request->comm;
	const struct ina_collective *what = &request->what;
	size_t bytes = ina_collective_bytes(what);
	size_t recv_bytes = ina_collective_recv_bytes(comm, what);

	switch (what->kind) {
	case INA_CALL_ALL_GATHER:
		request->transfer = bring(request, recv_bytes, (size_t)comm->rank * bytes, bytes);
		return INA_OK;
	case INA_CALL_BROADCAST:
		request->transfer = comm->rank != what->root ? bring(request, recv_bytes, 0, 0)
		                                             : give(request, recv_bytes);
		return INA_OK;
	case INA_CALL_BARRIER:
		request->transfer = make_transfer(request, NULL, NULL, 0, INA_BYTES, INA_SUM);
		return INA_OK;
	default:
		return begin_to_combine(request, failure);
	}
}

void ina_collective_end(struct ina_request *request)
{
	const struct ina_comm *comm = request->comm;
	const struct ina_collective *what = &request->what;
	const uint8_t *sums;

	if (what->kind == INA_CALL_BROADCAST && request->transfer.is_given &&
	    what->recv != what->send && what->count > 0)
		memcpy(what->recv, what->send, ina_collective_bytes(what));
	if (only_moves(what))
		return;
	sums = place_of_sums(request);
	/* With a single rank, its block is the whole result. */
	if (what->kind == INA_CALL_REDUCE_SCATTER)
		sums += (size_t)comm->rank *
		        bytes_under_way(comm, what, ina_collective_bytes(what));
	take_sums(request, sums);
}
