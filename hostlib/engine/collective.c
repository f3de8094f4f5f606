/* SPDX-License-Identifier: Apache-2.0 */
/* Implements collectives as all-reduces. */
#include "collective.h"

#include <assert.h>
#include <string.h>

#include "hostlib/elements/average.h"
#include "hostlib/elements/number.h"
#include "hostlib/tables/types.h"

size_t ina_collective_bytes(const struct ina_collective *what)
{
	return what->count * ina_type_bytes(what->type);
}

size_t ina_collective_send_bytes(const struct ina_comm *comm, const struct ina_collective *what)
{
	return ina_extent_count(ina_call_row(what->kind)->send, ina_collective_bytes(what),
	                        comm->ranks, comm->rank == what->root);
}

size_t ina_collective_recv_bytes(const struct ina_comm *comm, const struct ina_collective *what)
{
	return ina_extent_count(ina_call_row(what->kind)->recv, ina_collective_bytes(what),
	                        comm->ranks, comm->rank == what->root);
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

/* A flat communicator with several ranks. On others, the rails or channels carry out the parts. */
static bool is_flat(const struct ina_comm *comm)
{
	return comm->ranks > 1 && !comm->parallel && !comm->channels && !comm->network.plain;
}

/* Is half of the ring enough? Short collectives are carried out as a whole, with fewer messages. */
static bool is_half(const struct ina_comm *comm, const struct ina_collective *what)
{
	return is_flat(comm) && ina_call_row(what->kind)->half != INA_WHOLE &&
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
	return ina_call_row(what->kind)->combines &&
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

#define FITS(type, ...) static_assert(INA_##type < 1 << 4, "a mark has four bits for the type");
INA_TYPES(FITS)

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

static enum ina_part part_of(const struct ina_request *request)
{
	return is_half(request->comm, &request->what) ? ina_call_row(request->what.kind)->half
	                                              : INA_WHOLE;
}

/*
 * The transfer in which each rank contributes its elements, and zeros elsewhere; the sum has the
 * elements of all ranks. If the blocks go round the ring as they are, no zeros are needed.
 */
static struct ina_transfer bring(const struct ina_request *request, size_t total, size_t offset,
                                 size_t bytes)
{
	uint8_t *recv = request->what.recv;
	struct ina_transfer transfer =
	        make_transfer(request, recv, recv, total, INA_BYTES, INA_SUM);

	transfer.part = part_of(request);
	if (total > 0 && transfer.part == INA_WHOLE) {
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
	request->transfer.part = part_of(request);
	return INA_OK;
}

enum ina_status ina_collective_begin(struct ina_request *request, struct ina_failure *failure)
{
	const struct ina_comm *comm = request->comm;
	const struct ina_collective *what = &request->what;
	const struct ina_call_row *row = ina_call_row(what->kind);
	size_t send_bytes = ina_collective_send_bytes(comm, what);
	size_t recv_bytes = ina_collective_recv_bytes(comm, what);

	if (row->combines)
		return begin_to_combine(request, failure);
	if (row->send == INA_AT_ROOT && comm->rank == what->root)
		request->transfer = give(request, recv_bytes);
	else
		request->transfer = bring(
		        request, recv_bytes,
		        row->recv == INA_ALL ? (size_t)comm->rank * send_bytes : 0, send_bytes);
	return INA_OK;
}

void ina_collective_end(struct ina_request *request)
{
	const struct ina_comm *comm = request->comm;
	const struct ina_collective *what = &request->what;
	const struct ina_call_row *row = ina_call_row(what->kind);
	const uint8_t *sums;

	if (!row->combines) {
		if (request->transfer.is_given && what->recv != what->send && what->count > 0)
			memcpy(what->recv, what->send, ina_collective_bytes(what));
		return;
	}
	sums = place_of_sums(request);
	/* With a single rank, its block is the whole result. */
	if (row->send == INA_ALL)
		sums += (size_t)comm->rank *
		        bytes_under_way(comm, what, ina_collective_bytes(what));
	take_sums(request, sums);
}
