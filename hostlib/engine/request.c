/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and their memory. */
#include "request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "hostlib/rdma/probe.h"

struct ina_request *ina_request_make(struct ina_comm *comm, const struct ina_collective *what)
{
	struct ina_request *made = comm->spare_requests;

	if (made)
		comm->spare_requests = made->next;
	else
		made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	*made = (struct ina_request){.comm = comm,
	                             .what = *what,
	                             .scratch = made->scratch,
	                             .wide = made->wide,
	                             .apart = ina_collective_is_apart(comm, what)};
	return made;
}

void ina_request_append(struct ina_request **first, struct ina_request **last,
                        struct ina_request *request)
{
	if (*last)
		(*last)->next = request;
	else
		*first = request;
	*last = request;
}

void ina_request_end_all(struct ina_request *request, enum ina_status status)
{
	struct ina_request *next;

	for (; request; request = next) {
		next = request->next;
		request->is_grouped = false;
		request->status = status;
		request->done = true;
	}
}

static void give_back(struct ina_request *request)
{
	request->next = request->comm->spare_requests;
	request->comm->spare_requests = request;
}

enum ina_status ina_request_take(struct ina_request *request)
{
	struct ina_comm *comm = request->comm;

	if (request->status != INA_OK)
		comm->latest = comm->failure;
	give_back(request);
	return request->status;
}

/* Gives up the registrations that the request holds, when `until` messages are acknowledged. */
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

/*
 * Is the memory copied? Short memory is. All memory of a request that first opens connections is,
 * too: the memory for their messages is registered at that time, and the process may not be allowed
 * to lock both.
 */
static bool is_copied(const struct ina_request *request, size_t bytes)
{
	return bytes <= INA_COPIED_BYTES ||
	       (request->apart && request->comm->network.apart.stage != INA_APART_OPEN);
}

/*
 * Registers the memory for the request. Returns false if the memory must be copied instead, also
 * because the device does not accept it. *is_there: the process can read the memory.
 */
static bool hold(struct ina_request *request, const void *memory, size_t bytes, bool writable,
                 uint32_t *lkey, bool *is_there)
{
	struct ina_comm *comm = request->comm;
	int error = ina_memory_get(&comm->network.memory, memory, bytes, writable,
	                           !is_copied(request, bytes),
	                           &request->entries[request->entry_count], lkey);

	comm->stats.registrations = comm->network.memory.made;
	if (error == 0) {
		request->entry_count++;
		return true;
	}
	/* Short memory was checked before the call was queued. */
	*is_there = bytes <= INA_COPIED_BYTES || ina_may_read_afresh(memory, bytes);
	if (error == ENOENT)
		return false;
	if (!comm->has_told_of_copies)
		ina_warn(&comm->log,
		         "cannot register %zu bytes at %p: %s (%s): libina copies them, which is "
		         "slower",
		         bytes, memory, strerror(error), ina_memory_remedy(error));
	comm->has_told_of_copies = true;
	return false;
}

/* Registers the result first, because in place its registration serves for both. */
static enum ina_status hold_both(struct ina_request *request, struct ina_failure *failure)
{
	struct ina_transfer *transfer = &request->transfer;
	bool is_in_place = transfer->send == transfer->recv;
	const void *memory = transfer->recv;
	bool is_there = true;

	transfer->copies_recv = !hold(request, memory, transfer->total_bytes, !transfer->is_given,
	                              &transfer->recv_lkey, &is_there);
	transfer->copies_send = transfer->copies_recv;
	transfer->send_lkey = transfer->recv_lkey;
	if (!is_in_place && is_there) {
		memory = transfer->send;
		transfer->copies_send = !hold(request, memory, transfer->total_bytes, false,
		                              &transfer->send_lkey, &is_there);
	}
	if (is_there)
		return INA_OK;
	ina_request_release(request, 0);
	return ina_fail(failure, INA_ERR_MEMORY, INA_NOT_MEMORY, (size_t)transfer->total_bytes,
	                memory);
}

enum ina_status ina_request_prepare(struct ina_request *request, struct ina_failure *failure)
{
	enum ina_status status = ina_collective_begin(request, failure);

	if (status != INA_OK || !request->comm->algorithm->registers ||
	    request->transfer.total_bytes == 0)
		return status;
	return hold_both(request, failure);
}

enum ina_status ina_request_make_wide(struct ina_request *request, const struct ina_hosts *hosts,
                                      struct ina_failure *failure)
{
	struct ina_transfer *transfer = &request->transfer;
	uint64_t bytes = ina_hosts_wide_bytes(hosts, transfer);
	bool is_there;

	if (bytes == 0)
		return INA_OK;
	transfer->wide = ina_scratch_get(&request->wide, bytes);
	if (!transfer->wide)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for %llu bytes of partial sums",
		                (unsigned long long)bytes);
	transfer->copies_wide =
	        !hold(request, transfer->wide, bytes, true, &transfer->wide_lkey, &is_there);
	return INA_OK;
}

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
	uintptr_t from = (uintptr_t)a;
	uintptr_t to = (uintptr_t)b;

	return a_bytes > 0 && b_bytes > 0 && from < to + b_bytes && to < from + a_bytes;
}

static bool depends(const struct ina_request *request, const struct ina_request *earlier)
{
	const struct ina_comm *comm = request->comm;
	const struct ina_collective *a = &request->what;
	const struct ina_collective *b = &earlier->what;
	size_t a_send = ina_collective_send_bytes(comm, a);
	size_t a_recv = ina_collective_recv_bytes(comm, a);
	size_t b_send = ina_collective_send_bytes(comm, b);
	size_t b_recv = ina_collective_recv_bytes(comm, b);

	return overlap(a->send, a_send, b->recv, b_recv) ||
	       overlap(a->recv, a_recv, b->recv, b_recv) ||
	       overlap(a->recv, a_recv, b->send, b_send);
}

/* The requests for which it stands, or only itself. */
static const struct ina_request *first_of(const struct ina_request *request)
{
	return request->members ? request->members : request;
}

static const struct ina_request *next_of(const struct ina_request *request,
                                         const struct ina_request *member)
{
	return request->members ? member->next : NULL;
}

bool ina_request_depends(const struct ina_request *request, const struct ina_request *earlier)
{
	for (const struct ina_request *a = first_of(request); a; a = next_of(request, a)) {
		for (const struct ina_request *b = first_of(earlier); b; b = next_of(earlier, b)) {
			if (depends(a, b))
				return true;
		}
	}
	return false;
}

static void free_all(struct ina_request *first)
{
	while (first) {
		struct ina_request *next = first->next;

		if (first->members)
			free_all(first->members);
		ina_scratch_free(&first->scratch);
		ina_scratch_free(&first->wide);
		free(first);
		first = next;
	}
}

void ina_requests_free(struct ina_comm *comm)
{
	free_all(comm->first);
	for (struct ina_caller *caller = &comm->callers.first; caller; caller = caller->next)
		free_all(caller->group.first);
	free_all(comm->spare_requests);
}
