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
	       ina_collective_bytes(what) * (size_t)comm->ranks > INA_DOUBLING_BYTES;
}

bool ina_collective_is_apart(const struct ina_comm *comm, const struct ina_collective *what)
{
	/* The ring needs none beside it. */
	if (!is_flat(comm) || comm->settings.options.algorithm == INA_ALGORITHM_RING)
		return false;
	if (is_half(comm, what))
		return true;
	return !only_moves(what) && ina_number_of_wire(what->type, what->op) == INA_WIRE_NO_NUMBERS;
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

/*
 * Zero for an all-reduce of which the number type and operation of a message say all; else a number
 * that is another one for each kind, root, type and operation, so that ranks that call different
 * things are found at the first message.
 */
static uint32_t mark_of(const struct ina_collective *what)
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
	        .mark = mark_of(&request->what),
	        .fixed = comm->settings.options.fixed_point && !comm->network.plain &&
	                 type == INA_FLOAT32 && ina_op_under_way(op) == INA_SUM && bytes > 0,
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

/* Of one that stands for several (group.h): their elements, one behind the other. */
static void gather(const struct ina_request *request, uint8_t *elements)
{
	for (const struct ina_request *m = request->members; m; m = m->next) {
		if (ina_collective_bytes(&m->what) > 0)
			memcpy(elements, m->what.send, ina_collective_bytes(&m->what));
		elements += ina_collective_bytes(&m->what);
	}
}

static void hand_out(const struct ina_request *request, const uint8_t *elements)
{
	for (const struct ina_request *m = request->members; m; m = m->next) {
		if (ina_collective_bytes(&m->what) > 0)
			memcpy(m->what.recv, elements, ina_collective_bytes(&m->what));
		elements += ina_collective_bytes(&m->what);
	}
}

enum ina_status ina_collective_begin(struct ina_request *request, struct ina_failure *failure)
{
	const struct ina_comm *comm = request->comm;
	const struct ina_collective *what = &request->what;
	size_t bytes = ina_collective_bytes(what);
	size_t send_bytes = ina_collective_send_bytes(comm, what);
	size_t recv_bytes = ina_collective_recv_bytes(comm, what);
	struct ina_transfer *transfer = &request->transfer;
	void *recv = what->recv;

	switch (what->kind) {
	case INA_CALL_ALL_GATHER:
		*transfer = bring(request, recv_bytes, (size_t)comm->rank * bytes, bytes);
		return INA_OK;
	case INA_CALL_BROADCAST:
		*transfer = comm->rank != what->root
		                    ? bring(request, recv_bytes, 0, 0)
		                    : make_transfer(request, what->send, recv, recv_bytes,
		                                    INA_BYTES, INA_SUM);
		return INA_OK;
	case INA_CALL_BARRIER:
		*transfer = make_transfer(request, NULL, NULL, 0, INA_BYTES, INA_SUM);
		return INA_OK;
	default:
		break;
	}
	if (recv_bytes < send_bytes || request->members)
		recv = ina_scratch_get(&request->scratch, send_bytes);
	if (!recv && send_bytes > 0)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for %zu bytes of a %s",
		                send_bytes, ina_call_name(what->kind));
	if (request->members)
		gather(request, recv);
	*transfer = make_transfer(request, request->members ? recv : what->send, recv, send_bytes,
	                          what->type, what->op);
	transfer->part = is_half(comm, what) ? INA_SCATTER : INA_WHOLE;
	return INA_OK;
}

void ina_collective_end(struct ina_request *request)
{
	const struct ina_comm *comm = request->comm;
	const struct ina_collective *what = &request->what;
	size_t recv_bytes = ina_collective_recv_bytes(comm, what);

	if (what->kind == INA_CALL_REDUCE_SCATTER && comm->ranks > 1 && recv_bytes > 0)
		memcpy(what->recv,
		       (uint8_t *)ina_scratch_get(&request->scratch, 0) +
		               (size_t)comm->rank * recv_bytes,
		       recv_bytes);
	if (what->op == INA_AVG && recv_bytes > 0)
		ina_average(request->members ? ina_scratch_get(&request->scratch, 0) : what->recv,
		            what->count, what->type, comm->ranks);
	if (request->members)
		hand_out(request, ina_scratch_get(&request->scratch, 0));
}
