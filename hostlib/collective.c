/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of all-reduces: one at a time, in the order in which they were started. */
#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "comm.h"
#include "number.h"

static size_t bytes_of(const struct ina_request *request)
{
	return request->count * ina_type_bytes((int)request->type);
}

static void finish(struct ina_comm *comm, enum ina_status status)
{
	struct ina_request *request = comm->first;

	for (unsigned int i = 0; i < request->entry_count; i++)
		ina_memory_put(&comm->memory, request->entries[i]);
	comm->window.active = false;
	comm->ring.active = false;
	request->done = true;
	request->status = status;
	comm->first = request->next;
	if (!comm->first)
		comm->last = NULL;
}

void ina_collective_abort(struct ina_comm *comm)
{
	while (comm->first)
		finish(comm, comm->failure.status);
}

static enum ina_status hold(struct ina_request *request, const void *memory, bool writable,
                            uint32_t *lkey, struct ina_failure *failure)
{
	struct ina_comm *comm = request->comm;
	enum ina_status status;

	if (request->count == 0)
		return INA_OK;
	status = ina_memory_get(&comm->memory, memory, bytes_of(request), writable,
	                        &request->entries[request->entry_count], lkey, failure);
	if (status == INA_OK)
		request->entry_count++;
	comm->stats.registrations = comm->memory.made;
	return status;
}

static enum ina_status activate(struct ina_comm *comm, struct ina_failure *failure)
{
	struct ina_request *request = comm->first;
	struct ina_transfer transfer = {
	        .send = request->send,
	        .recv = request->recv,
	        .total_bytes = bytes_of(request),
	        .element_bytes = (uint32_t)ina_type_bytes((int)request->type),
	        .type = request->type,
	        .op = request->op,
	};
	enum ina_status status;

	request->active = true;
	comm->previous = comm->current;
	comm->current = (struct ina_call){
	        .number = comm->previous.number + 1,
	        .count = request->count,
	        .kind = INA_CALL_ALLREDUCE,
	        .type = (uint16_t)request->type,
	        .op = (uint16_t)request->op,
	};
	comm->control.stall_told = false;
	comm->control.news = true; /* what came before may concern this call */
	comm->progressed_ms = ina_now_ms();
	comm->deadline_ms = comm->progressed_ms + comm->settings.options.timeout_ms;

	/* The result first: in place, its registration serves for both. */
	status = hold(request, request->recv, true, &transfer.recv_lkey, failure);
	if (status == INA_OK)
		status = hold(request, request->send, false, &transfer.send_lkey, failure);
	if (status != INA_OK)
		return status;
	if (comm->aggregated)
		ina_window_start(&comm->window, INA_WIRE_DATA, 0, &transfer);
	else
		ina_ring_start(&comm->ring, &transfer);
	return INA_OK;
}

static enum ina_status advance(struct ina_comm *comm, struct ina_failure *failure)
{
	return comm->aggregated ? ina_window_advance(&comm->window, failure)
	                        : ina_ring_advance(&comm->ring, failure);
}

static bool transferred(const struct ina_comm *comm)
{
	return comm->aggregated ? ina_window_done(&comm->window) : ina_ring_done(&comm->ring);
}

static void count_call(struct ina_comm *comm)
{
	uint64_t bytes = bytes_of(comm->first);

	comm->stats.calls++;
	if (comm->aggregated) {
		comm->stats.messages_aggregated += comm->window.count;
		comm->stats.bytes_aggregated += bytes;
		comm->stats.overflows += comm->window.overflow;
	} else {
		comm->stats.messages_ring += comm->ring.in_count;
		comm->stats.bytes_ring += bytes;
		comm->stats.overflows += comm->ring.overflow;
	}
}

static void explain_timeout(const struct ina_comm *comm, struct ina_failure *failure)
{
	int timeout_ms = comm->settings.options.timeout_ms;
	const struct ina_window *window = &comm->window;
	const struct ina_ring *ring = &comm->ring;

	if (comm->aggregated && window->received < window->count)
		ina_fail(failure, INA_ERR_TIMEOUT,
		         "got no sum of message %" PRIu64 " of %" PRIu64 " in %d ms",
		         window->received, window->count, timeout_ms);
	else if (!comm->aggregated && ring->in.index < ring->in_count)
		ina_fail(failure, INA_ERR_TIMEOUT,
		         "got no message %" PRIu64 " of %" PRIu64 " from rank %d in %d ms",
		         ring->in.index, ring->in_count, ina_predecessor(comm->rank, comm->ranks),
		         timeout_ms);
	else
		ina_fail(failure, INA_ERR_TIMEOUT, "got no acknowledgement from rank %d in %d ms",
		         ina_successor(comm->rank, comm->ranks), timeout_ms);
}

static void fault(struct ina_comm *comm, const struct ina_failure *failure)
{
	ina_comm_fault(comm, failure);
	ina_collective_abort(comm);
}

/* Nothing has come for a moment, or something over the control channel: is anything wrong? */
static void look_around(struct ina_comm *comm)
{
	struct ina_failure failure;
	int64_t now_ms = ina_now_ms();

	comm->control.news = false;
	if (ina_disturbed(&comm->control, &comm->current)) {
		fault(comm, NULL);
	} else if (now_ms >= comm->deadline_ms) {
		explain_timeout(comm, &failure);
		fault(comm, &failure);
	} else if (now_ms - comm->progressed_ms >= INA_STALL_MS) {
		ina_tell_stall(&comm->control, &comm->current);
	}
}

/* A single rank: the sum is what it gave. */
static void copy_alone(struct ina_comm *comm)
{
	const struct ina_request *request = comm->first;

	if (request->count > 0 && request->send != request->recv)
		memcpy(request->recv, request->send, bytes_of(request));
	comm->stats.calls++;
	finish(comm, INA_OK);
}

void ina_collective_step(struct ina_comm *comm, int timeout_ms)
{
	struct ina_failure failure;
	enum ina_status status = INA_OK;
	int count = 0;

	if (!comm->first)
		return;
	if (comm->ranks == 1) {
		copy_alone(comm);
		return;
	}
	if (!comm->first->active) {
		status = activate(comm, &failure);
		if (status == INA_OK)
			status = advance(comm, &failure);
	}
	if (status == INA_OK && comm->control.news) {
		look_around(comm);
		if (!comm->first)
			return;
	}
	if (status == INA_OK)
		status = timeout_ms > 0 ? ina_progress_wait(comm, timeout_ms, &count, &failure)
		                        : ina_progress_poll(comm, &count, &failure);
	if (status == INA_OK && count > 0)
		status = advance(comm, &failure);
	if (status != INA_OK) {
		fault(comm, &failure);
		return;
	}
	if (transferred(comm)) {
		count_call(comm);
		finish(comm, INA_OK);
		return;
	}
	if (count > 0) {
		comm->progressed_ms = ina_now_ms();
		return;
	}
	if (timeout_ms == 0)
		ina_control_pump(&comm->control, 0);
	look_around(comm);
}
