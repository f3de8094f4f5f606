/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of all-reduces: one at a time, in the order in which they were started. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "comm.h"
#include "number.h"
#include "parallel.h"

static size_t bytes_of(const struct ina_request *request)
{
	return request->count * ina_type_bytes((int)request->type);
}

void ina_collective_release(struct ina_comm *comm, bool all)
{
	const unsigned int places = sizeof(comm->lingering) / sizeof(comm->lingering[0]);
	uint64_t acknowledged = ina_window_acknowledged(&comm->window);

	while (comm->lingering_count > 0 &&
	       (all || comm->lingering[comm->lingering_first].until <= acknowledged)) {
		ina_memory_put(&comm->memory, comm->lingering[comm->lingering_first].entry);
		comm->lingering_first = (comm->lingering_first + 1) % places;
		comm->lingering_count--;
	}
}

/* The device may still read the memory of the last W messages: at most two registrations each. */
static void linger(struct ina_comm *comm, unsigned int entry)
{
	const unsigned int places = sizeof(comm->lingering) / sizeof(comm->lingering[0]);
	unsigned int place = (comm->lingering_first + comm->lingering_count++) % places;

	assert(comm->lingering_count <= places);
	comm->lingering[place].entry = entry;
	comm->lingering[place].until = comm->window.numbered;
}

void ina_collective_finish(struct ina_comm *comm, enum ina_status status)
{
	struct ina_request *request = comm->first;
	bool lingers = status == INA_OK && comm->aggregated;

	for (unsigned int i = 0; i < request->entry_count; i++) {
		if (lingers)
			linger(comm, request->entries[i]);
		else
			ina_memory_put(&comm->memory, request->entries[i]);
	}
	ina_collective_release(comm, false);
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
		ina_collective_finish(comm, comm->failure.status);
}

enum ina_status ina_collective_drain(struct ina_comm *comm, struct ina_failure *failure)
{
	int timeout_ms = comm->settings.options.timeout_ms;
	int64_t deadline_ms = ina_now_ms() + timeout_ms;
	int count;

	while (comm->lingering_count > 0 && comm->failure.status == INA_OK) {
		enum ina_status status = ina_progress_wait(
		        comm, ina_left_ms(deadline_ms, INA_STALL_MS), &count, failure);

		if (status != INA_OK)
			return status;
		ina_collective_release(comm, false);
		if (comm->lingering_count > 0 && ina_now_ms() >= deadline_ms)
			return ina_fail(failure, INA_ERR_TIMEOUT,
			                "got no acknowledgement from rank %d in %d ms",
			                ina_successor(comm->rank, comm->ranks), timeout_ms);
	}
	return INA_OK;
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

static enum ina_status advance(struct ina_comm *comm, struct ina_failure *failure)
{
	return comm->aggregated ? ina_window_advance(&comm->window, failure)
	                        : ina_ring_advance(&comm->ring, failure);
}

/* What the aggregator has summed of the transfer is done; the ring begins behind it. */
static void start_ring(struct ina_comm *comm)
{
	struct ina_transfer rest = comm->transfer;

	rest.send += comm->summed_bytes;
	rest.recv += comm->summed_bytes;
	rest.total_bytes -= comm->summed_bytes;
	ina_ring_start(&comm->ring, &rest);
	comm->ring.wish = ina_rejoin_wished(comm);
}

enum ina_status ina_collective_transfer(struct ina_comm *comm, struct ina_failure *failure)
{
	if (comm->aggregated)
		ina_window_start(&comm->window, INA_WIRE_DATA, 0, &comm->transfer);
	else
		start_ring(comm);
	return advance(comm, failure);
}

void ina_collective_begin(struct ina_comm *comm)
{
	struct ina_request *request = comm->first;

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
	comm->progressed_ms = ina_now_ms();
	comm->moved = false;
	comm->deadline_ms = comm->progressed_ms + comm->settings.options.timeout_ms;
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
	        .fixed = comm->settings.options.fixed_point && !comm->plain &&
	                 request->type == INA_FLOAT32 && request->op == INA_SUM &&
	                 request->count > 0,
	};
	enum ina_status status;

	ina_collective_begin(comm);
	comm->summed = 0;
	comm->summed_bytes = 0;
	comm->interrupted = false;
	comm->window.active = false;
	comm->ring.active = false;
	comm->control.news = true; /* what came before may concern this call */

	/* The result first: in place, its registration serves for both. */
	status = hold(request, request->recv, true, &transfer.recv_lkey, failure);
	if (status == INA_OK)
		status = hold(request, request->send, false, &transfer.send_lkey, failure);
	if (status != INA_OK)
		return status;
	comm->transfer = transfer;
	if (!comm->rejoin.due)
		return ina_collective_transfer(comm, failure);
	ina_rejoin_begin(comm);
	return INA_OK;
}

static bool transferred(const struct ina_comm *comm)
{
	const struct ina_window *window = &comm->window;

	if (!comm->aggregated)
		return ina_ring_done(&comm->ring);
	/* Without a cache, the memory may be other memory in the next call: no registration stays.
	 */
	return ina_window_done(window) &&
	       (comm->settings.options.cache_entries > 0 || window->unacknowledged == 0);
}

static void count_call(struct ina_comm *comm)
{
	struct ina_stats *stats = &comm->stats;
	uint64_t bytes = comm->transfer.total_bytes;
	bool overflow = comm->summed > 0 && comm->window.overflow;

	if (comm->aggregated) {
		comm->summed = comm->window.count;
		comm->summed_bytes = bytes;
		overflow = comm->window.overflow;
	} else {
		overflow |= comm->ring.overflow;
		stats->messages_ring += comm->ring.in_count;
		stats->bytes_ring += bytes - comm->summed_bytes;
		comm->rejoin.due |= comm->ring.wish;
	}
	stats->calls++;
	stats->messages_aggregated += comm->summed;
	stats->bytes_aggregated += comm->summed_bytes;
	stats->overflows += overflow;
	if (comm->transfer.fixed && comm->summed > 0) {
		stats->blocks_fixed += comm->window.blocks_fixed;
		stats->blocks_float += comm->window.blocks_float;
	}
}

enum ina_status ina_collective_resume(struct ina_comm *comm, struct ina_failure *failure)
{
	if (comm->summed < comm->window.count)
		return ina_collective_transfer(comm, failure);
	/* Ranks that had all sums by themselves are gone to other things: nothing to send. */
	comm->ring.in_count = 0;
	comm->ring.overflow = false;
	comm->ring.wish = false;
	count_call(comm);
	ina_collective_finish(comm, INA_OK);
	return INA_OK;
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

/*
 * All ranks are in this call and have waited for a while, so this is no late rank. A lost tail is
 * sent again after an ACK timeout, which may be lost too: some of them must do. Three times over,
 * for a machine that is busy with other things is no dead aggregator.
 */
static bool aggregator_is_dead(const struct ina_comm *comm, int64_t now_ms)
{
	const struct ina_options *options = &comm->settings.options;
	int64_t ack_ms = ((int64_t)4096 << options->ack_timeout) / 1000000;
	int64_t join_ms = options->join_timeout_ms;
	int64_t patience_ms = join_ms > 8 * ack_ms ? 3 * join_ms : 24 * ack_ms;

	return comm->aggregated && !comm->plain &&
	       now_ms - comm->progressed_ms >= INA_STALL_MS + patience_ms &&
	       ina_all_stalled(&comm->control, &comm->current);
}

/*
 * The clock, and with it the time of the latest progress. It is read before a wait, and where
 * nothing has come, but not for each completion: not everywhere is that as cheap as it should be.
 */
static int64_t read_clock(struct ina_comm *comm)
{
	int64_t now_ms = ina_now_ms();

	if (comm->moved)
		comm->progressed_ms = now_ms;
	comm->moved = false;
	return now_ms;
}

/* Nothing has come for a moment, or something over the control channel: is anything wrong? */
static void look_around(struct ina_comm *comm)
{
	struct ina_failure failure;
	int64_t now_ms = read_clock(comm);

	comm->control.news = false;
	if (ina_disturbed(&comm->control, &comm->current)) {
		ina_comm_fault(comm, NULL);
	} else if (now_ms >= comm->deadline_ms) {
		explain_timeout(comm, &failure);
		ina_comm_fault(comm, &failure);
	} else if (aggregator_is_dead(comm, now_ms)) {
		ina_fail(&failure, INA_ERR_AGGREGATOR,
		         "no sum has come for %" PRId64 " ms, though all ranks wait",
		         now_ms - comm->progressed_ms);
		ina_comm_fault(comm, &failure);
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
	ina_collective_finish(comm, INA_OK);
}

/* What has completed; if nothing has, waits for it, up to timeout_ms (0: not) and the deadline. */
static enum ina_status complete(struct ina_comm *comm, int timeout_ms, int *count,
                                struct ina_failure *failure)
{
	enum ina_status status = timeout_ms > 0 ? ina_progress_look(comm, count, failure)
	                                        : ina_progress_poll(comm, count, failure);
	int64_t left_ms;

	if (status != INA_OK || *count > 0 || timeout_ms == 0)
		return status;
	left_ms = comm->deadline_ms - read_clock(comm);
	if (left_ms > timeout_ms)
		left_ms = timeout_ms;
	return ina_progress_sleep(comm, left_ms > 0 ? (int)left_ms : 0, count, failure);
}

static void step_transfer(struct ina_comm *comm, int timeout_ms)
{
	struct ina_failure failure;
	enum ina_status status = INA_OK;
	int count = 0;

	if (comm->control.news) {
		look_around(comm);
		if (comm->phase != INA_STEADY)
			return;
	}
	status = complete(comm, timeout_ms, &count, &failure);
	ina_collective_release(comm, false);
	if (status == INA_OK && count > 0)
		status = advance(comm, &failure);
	if (status != INA_OK) {
		ina_comm_fault(comm, &failure);
		return;
	}
	if (transferred(comm)) {
		count_call(comm);
		ina_collective_finish(comm, INA_OK);
		return;
	}
	if (count > 0) {
		comm->moved = true;
		return;
	}
	if (timeout_ms == 0)
		ina_control_pump(&comm->control, 0);
	look_around(comm);
}

/* A wait of at most timeout_ms that ends with the first request's time; 0 is no wait. */
static int bounded(const struct ina_comm *comm, int timeout_ms)
{
	int left_ms;

	if (timeout_ms == 0 || !comm->first->active)
		return timeout_ms;
	left_ms = ina_left_ms(comm->deadline_ms, timeout_ms);
	return left_ms > 0 ? left_ms : 1;
}

void ina_collective_step(struct ina_comm *comm, int timeout_ms)
{
	struct ina_failure failure;

	if (!comm->first)
		return;
	if (comm->parallel) {
		ina_parallel_step(comm, bounded(comm, timeout_ms));
		return;
	}
	if (comm->ranks == 1) {
		copy_alone(comm);
		return;
	}
	if (comm->phase == INA_STEADY && !comm->first->active && activate(comm, &failure) != INA_OK)
		ina_comm_fault(comm, &failure);
	if (comm->phase == INA_STEADY)
		step_transfer(comm, timeout_ms);
	else
		ina_comm_mend(comm, bounded(comm, timeout_ms));
}
