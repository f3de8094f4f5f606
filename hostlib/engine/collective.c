/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives as all-reduces. */
#include "collective.h"

#include <string.h>

#include "hostlib/elements/average.h"
#include "hostlib/elements/number.h"

/* How many times `count` elements there are at send and recv: once for each rank, once, or not. */
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
	return what->count * ina_type_bytes((int)what->type);
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

/* An average is the sum of other elements (elements/average.h), where there is anything to add. */
static bool averages(const struct ina_comm *comm, const struct ina_collective *what)
{
	return what->op == INA_AVG && comm->ranks > 1;
}

/* What is added up, or whatever else the operation is: its type, and the bytes of so many of the
 * caller's. */
static enum ina_type type_under_way(const struct ina_comm *comm, const struct ina_collective *what)
{
	return averages(comm, what) ? ina_average_type(what->type) : what->type;
}

static size_t bytes_under_way(const struct ina_comm *comm, const struct ina_collective *what,
                              size_t bytes)
{
	if (!averages(comm, what))
		return bytes;
	return bytes / ina_type_bytes((int)what->type) * ina_average_bytes(what->type);
}

/* Does it only move elements, and combine none? */
static bool only_moves(const struct ina_collective *what)
{
	return what->kind == INA_CALL_ALL_GATHER || what->kind == INA_CALL_BROADCAST ||
	       what->kind == INA_CALL_BARRIER;
}

/* Rails and channels are asked for their parts of it. */
static bool is_flat(const struct ina_comm *comm)
{
	return comm->ranks > 1 && !comm->parallel && !comm->channels && !comm->network.plain;
}

/* Is half of the ring enough? What is short goes by fewer messages as a whole. */
static bool is_half(const struct ina_comm *comm, const struct ina_collective *what)
{
	return is_flat(comm) &&
	       (what->kind == INA_CALL_REDUCE_SCATTER || what->kind == INA_CALL_ALL_GATHER) &&
	       bytes_under_way(comm, what, ina_collective_bytes(what)) * (size_t)comm->ranks >
	               INA_DOUBLING_BYTES;
}

bool ina_collective_is_apart(const struct ina_comm *comm, const struct ina_collective *what)
{
	/* The ring needs none beside it. */
	if (!is_flat(comm) || comm->settings.options.algorithm == INA_ALGORITHM_RING)
		return false;
	if (is_half(comm, what))
		return true;
	return !only_moves(what) &&
	       ina_number_of_wire(type_under_way(comm, what), what->op) == INA_WIRE_NO_NUMBERS;
}

/*
 * What messages call the type: as the aggregator, if that can combine it, which takes it for one of
 * its own; else by the public number, which is none of these.
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
	/* 2^32 by the golden ratio: what differs in a few bits is far apart. */
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
	        .element_bytes = (uint32_t)ina_type_bytes((int)type),
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
 * All zeros but for what this rank brings: the sum is what all of them bring. Where blocks go round
 * as they are, no zeros are needed.
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

/* The other ranks bring zeros, so this rank has the result. Its memory may be read-only. */
static struct ina_transfer give(const struct ina_request *request, size_t total)
{
	const void *send = request->what.send;
	struct ina_transfer transfer =
	        make_transfer(request, send, (void *)(uintptr_t)send, total, INA_BYTES, INA_SUM);

	transfer.is_given = true;
	return transfer;
}

/*
 * Makes what is added up of the elements. If the request stands for several (group.h), of those of
 * all members, one after the other.
 */
static void put_addends(const struct ina_request *request, uint8_t *addends)
{
	const struct ina_comm *comm = request->comm;
	const struct ina_request *first = request->members ? request->members : request;

	for (const struct ina_request *r = first; r; r = request->members ? r->next : NULL) {
		const struct ina_collective *what = &r->what;
		size_t bytes = ina_collective_send_bytes(comm, what);

		if (averages(comm, what))
			ina_average_begin(addends, what->send,
			                  bytes / ina_type_bytes((int)what->type), what->type,
			                  comm->ranks);
		else if (bytes > 0)
			memcpy(addends, what->send, bytes);
		addends += bytes_under_way(comm, what, bytes);
	}
}

/* Makes the result of the sums, or of each member its own. */
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

/* Where the result of all ranks' elements is received; NULL: there is no memory. */
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
		/* A request that begins anew has made them, maybe in the elements' own place. */
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
	/* Of a single rank, a block is all. */
	if (what->kind == INA_CALL_REDUCE_SCATTER)
		sums += (size_t)comm->rank *
		        bytes_under_way(comm, what, ina_collective_bytes(what));
	take_sums(request, sums);
}
