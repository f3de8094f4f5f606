/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of all-reduces, in the order in which they were started, and their memory. */
#include "request.h"

#include <stdlib.h>

#include "hostlib/elements/number.h"

enum ina_status ina_request_start(struct ina_comm *comm, const void *send, void *recv, size_t count,
                                  enum ina_type type, enum ina_op op, struct ina_request **request)
{
	struct ina_request *made = comm->spare_requests;

	if (comm->failure.status != INA_OK) {
		comm->latest = comm->failure;
		return comm->failure.status;
	}
	if (made)
		comm->spare_requests = made->next;
	else
		made = malloc(sizeof(*made));
	if (!made)
		return ina_fail(&comm->latest, INA_ERR_MEMORY, "no memory for a request");
	*made = (struct ina_request){
	        .comm = comm, .send = send, .recv = recv, .count = count, .type = type, .op = op};
	if (comm->last)
		comm->last->next = made;
	else
		comm->first = made;
	comm->last = made;
	*request = made;
	return INA_OK;
}

enum ina_status ina_request_take(struct ina_request *request)
{
	struct ina_comm *comm = request->comm;

	if (request->status != INA_OK)
		comm->latest = comm->failure;
	request->next = comm->spare_requests;
	comm->spare_requests = request;
	return request->status;
}

enum ina_status ina_request_wait(struct ina_request *request)
{
	while (!request->done)
		ina_comm_step(request->comm, INA_STALL_MS);
	return ina_request_take(request);
}

static size_t bytes_of(const struct ina_request *request)
{
	return request->count * ina_type_bytes((int)request->type);
}

/* The registrations that the request holds are given back, when so many messages are acknowledged.
 */
void ina_request_release(struct ina_request *request, uint64_t until)
{
	struct ina_memory *memory = &request->comm->network.memory;

	for (unsigned int i = 0; i < request->entry_count; i++) {
		if (until > 0)
			ina_memory_put_later(memory, request->entries[i], until);
		else
			ina_memory_put(memory, request->entries[i]);
	}
	request->entry_count = 0;
}

static enum ina_status hold(struct ina_request *request, const void *memory, bool writable,
                            uint32_t *lkey, struct ina_failure *failure)
{
	struct ina_comm *comm = request->comm;
	enum ina_status status =
	        ina_memory_get(&comm->network.memory, memory, bytes_of(request), writable,
	                       &request->entries[request->entry_count], lkey, failure);

	if (status == INA_OK)
		request->entry_count++;
	comm->stats.registrations = comm->network.memory.made;
	return status;
}

/*
 * What messages call the type: as the aggregator, if that can combine it, which takes it for one of
 * its own; else by the public number, which is none of these.
 */
static uint8_t number_type_of(const struct ina_request *request)
{
	enum ina_wire_number_type number = ina_number_of_wire(request->type, request->op);

	return (uint8_t)(number != INA_WIRE_NO_NUMBERS ? (int)number : (int)request->type);
}

/*
 * Zero for what the number type and operation of a message say all of; else a number that is
 * another one for each type and operation, so that ranks that call different things are found at
 * the first message.
 */
static uint32_t mark_of(const struct ina_request *request)
{
	if (number_type_of(request) == (uint8_t)request->type &&
	    ina_op_under_way(request->op) == request->op)
		return 0;
	/* 2^32 by the golden ratio: what differs in a few bits is far apart. */
	return ((uint32_t)request->type << 4 | (uint32_t)request->op) * 0x9E3779B1u;
}

enum ina_status ina_request_prepare(struct ina_request *request, struct ina_failure *failure)
{
	struct ina_comm *comm = request->comm;
	struct ina_transfer *transfer = &request->transfer;
	enum ina_status status;

	*transfer = (struct ina_transfer){
	        .send = request->send,
	        .recv = request->recv,
	        .total_bytes = bytes_of(request),
	        .element_bytes = (uint32_t)ina_type_bytes((int)request->type),
	        .type = request->type,
	        .op = ina_op_under_way(request->op),
	        .number_type = number_type_of(request),
	        .mark = mark_of(request),
	        .fixed = comm->settings.options.fixed_point && !comm->network.plain &&
	                 request->type == INA_FLOAT32 && ina_op_under_way(request->op) == INA_SUM &&
	                 request->count > 0,
	};
	if (!comm->algorithm->registers || request->count == 0)
		return INA_OK;
	/* The result first: in place, its registration serves for both. */
	status = hold(request, request->recv, true, &transfer->recv_lkey, failure);
	if (status == INA_OK)
		status = hold(request, request->send, false, &transfer->send_lkey, failure);
	if (status != INA_OK)
		ina_request_release(request, 0);
	return status;
}

static bool overlap(const struct ina_request *a, const void *a_start, const struct ina_request *b,
                    const void *b_start)
{
	uintptr_t from = (uintptr_t)a_start;
	uintptr_t to = (uintptr_t)b_start;

	return from < to + bytes_of(b) && to < from + bytes_of(a);
}

bool ina_request_depends(const struct ina_request *request, const struct ina_request *earlier)
{
	return overlap(request, request->send, earlier, earlier->recv) ||
	       overlap(request, request->recv, earlier, earlier->recv) ||
	       overlap(request, request->recv, earlier, earlier->send);
}

static void free_all(struct ina_request *first)
{
	while (first) {
		struct ina_request *next = first->next;

		free(first);
		first = next;
	}
}

void ina_requests_free(struct ina_comm *comm)
{
	free_all(comm->first);
	free_all(comm->spare_requests);
}
