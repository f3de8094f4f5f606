/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of all-reduces, in the order in which they were started. By ring they go one at a time;
 * with the aggregator the next ones enter the window as soon as there is room in it. The current
 * call is the first one's, and what has to do with time is about that.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/deadline.h"
#include "comm.h"
#include "hostlib/elements/number.h"
#include "hostlib/machine/parallel.h"

static size_t bytes_of(const struct ina_request *request)
{
	return request->count * ina_type_bytes((int)request->type);
}

void ina_collective_release(struct ina_comm *comm, bool all)
{
	const unsigned int places = sizeof(comm->lingering) / sizeof(comm->lingering[0]);
	uint64_t acknowledged = ina_innet_acknowledged(&comm->window);

	while (comm->lingering_count > 0 &&
	       (all || comm->lingering[comm->lingering_first].until <= acknowledged)) {
		ina_memory_put(&comm->memory, comm->lingering[comm->lingering_first].entry);
		comm->lingering_first = (comm->lingering_first + 1) % places;
		comm->lingering_count--;
	}
}

/* The device may still read the memory of the last W messages: at most two registrations each. */
static void linger(struct ina_comm *comm, unsigned int entry, uint64_t until)
{
	const unsigned int places = sizeof(comm->lingering) / sizeof(comm->lingering[0]);
	unsigned int place = (comm->lingering_first + comm->lingering_count++) % places;

	assert(comm->lingering_count <= places);
	comm->lingering[place].entry = entry;
	comm->lingering[place].until = until;
}

/* The registrations that the request holds are given back, now or when the device has let go. */
static void release_memory(struct ina_request *request, bool lingers)
{
	struct ina_comm *comm = request->comm;
	const struct ina_operation *operation = ina_innet_oldest(&comm->window);

	for (unsigned int i = 0; i < request->entry_count; i++) {
		if (lingers)
			linger(comm, request->entries[i], operation->first + operation->count);
		else
			ina_memory_put(&comm->memory, request->entries[i]);
	}
	request->entry_count = 0;
}

void ina_collective_finish(struct ina_comm *comm, enum ina_status status)
{
	struct ina_request *request = comm->first;
	bool in_window = ina_innet_is_busy(&comm->window);

	ina_end_stall(&comm->control);
	release_memory(request, status == INA_OK && comm->aggregated && in_window);
	if (in_window)
		ina_innet_retire(&comm->window);
	ina_collective_release(comm, false);
	request->done = true;
	request->status = status;
	comm->first = request->next;
	if (!comm->first)
		comm->last = NULL;
	else if (comm->first->active && status == INA_OK)
		ina_collective_begin(comm);
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

/* Makes the request's transfer, and holds its memory. */
static enum ina_status prepare(struct ina_request *request, struct ina_failure *failure)
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
	        .op = request->op,
	        .fixed = comm->settings.options.fixed_point && !comm->plain &&
	                 request->type == INA_FLOAT32 && request->op == INA_SUM &&
	                 request->count > 0,
	};
	/* The result first: in place, its registration serves for both. */
	status = hold(request, request->recv, true, &transfer->recv_lkey, failure);
	if (status == INA_OK)
		status = hold(request, request->send, false, &transfer->send_lkey, failure);
	if (status != INA_OK)
		release_memory(request, false);
	return status;
}

static bool overlap(const struct ina_request *a, const void *a_start, const struct ina_request *b,
                    const void *b_start)
{
	uintptr_t from = (uintptr_t)a_start;
	uintptr_t to = (uintptr_t)b_start;

	return from < to + bytes_of(b) && to < from + bytes_of(a);
}

/* Would it read or write what an earlier one is yet to write, or write what that one reads? */
static bool depends(const struct ina_request *request, const struct ina_request *earlier)
{
	return overlap(request, request->send, earlier, earlier->recv) ||
	       overlap(request, request->recv, earlier, earlier->recv) ||
	       overlap(request, request->recv, earlier, earlier->send);
}

/* The next one to enter the window, behind those that are in it; NULL: none may. */
static struct ina_request *next_for_window(struct ina_comm *comm)
{
	struct ina_request *next = comm->first;

	if (!comm->aggregated || !next || !next->active || !ina_innet_is_busy(&comm->window) ||
	    !ina_innet_has_room(&comm->window))
		return NULL;
	while (next && next->active)
		next = next->next;
	for (const struct ina_request *r = comm->first; next && r != next; r = r->next) {
		if (depends(next, r))
			return NULL;
	}
	return next;
}

/* Where memory cannot be held beside the others', it may be when their turn is over. */
static enum ina_status fill_window(struct ina_comm *comm, struct ina_failure *failure)
{
	struct ina_request *next = next_for_window(comm);
	enum ina_status status = INA_OK;

	while (status == INA_OK && next && prepare(next, failure) == INA_OK) {
		next->active = true;
		ina_innet_start(&comm->window, INA_WIRE_DATA, 0, &next->transfer);
		status = ina_innet_advance(&comm->window, failure);
		next = next_for_window(comm);
	}
	return status;
}

static enum ina_status advance(struct ina_comm *comm, struct ina_failure *failure)
{
	enum ina_status status;

	if (!comm->aggregated)
		return ina_ring_advance(&comm->ring, failure);
	status = ina_innet_advance(&comm->window, failure);
	return status == INA_OK ? fill_window(comm, failure) : status;
}

/* What the aggregator has summed of the transfer is done; the ring begins behind it. */
static void start_ring(struct ina_comm *comm)
{
	struct ina_transfer rest = comm->first->transfer;

	rest.send += comm->summed_bytes;
	rest.recv += comm->summed_bytes;
	rest.total_bytes -= comm->summed_bytes;
	ina_ring_start(&comm->ring, &rest);
	comm->ring.wish = ina_rejoin_wished(comm);
}

enum ina_status ina_collective_transfer(struct ina_comm *comm, struct ina_failure *failure)
{
	if (comm->aggregated)
		ina_innet_start(&comm->window, INA_WIRE_DATA, 0, &comm->first->transfer);
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
	comm->summed = 0;
	comm->summed_bytes = 0;
	comm->summed_overflow = false;
	comm->control.news = true; /* what came before may concern this call */
	comm->progressed_ms = ina_now_ms();
	comm->moved = false;
	comm->deadline_ms = comm->progressed_ms + comm->settings.options.timeout_ms;
}

static enum ina_status activate(struct ina_comm *comm, struct ina_failure *failure)
{
	enum ina_status status;

	ina_collective_begin(comm);
	comm->interrupted = false;
	status = prepare(comm->first, failure);
	if (status != INA_OK)
		return status;
	if (!comm->rejoin.due)
		return ina_collective_transfer(comm, failure);
	ina_rejoin_begin(comm);
	return INA_OK;
}

static bool transferred(const struct ina_comm *comm)
{
	const struct ina_innet *window = &comm->window;

	if (!comm->aggregated)
		return ina_ring_done(&comm->ring);
	/* Without a cache, the memory may be other memory in the next call: no registration stays.
	 */
	return ina_innet_done(window) &&
	       (comm->settings.options.cache_entries > 0 || ina_innet_is_acknowledged(window));
}

/* What the aggregator has done of the oldest transfer is done for good. */
static void note_sums(struct ina_comm *comm)
{
	const struct ina_operation *operation = ina_innet_oldest(&comm->window);

	comm->summed = ina_innet_sums(&comm->window);
	comm->summed_bytes = ina_innet_summed_bytes(&comm->window);
	comm->summed_overflow = operation->overflow;
	comm->stats.messages_aggregated += comm->summed;
	comm->stats.bytes_aggregated += comm->summed_bytes;
	comm->stats.blocks_fixed += operation->blocks_fixed;
	comm->stats.blocks_float += operation->blocks_float;
}

/* All sums of the first request are there. */
static void finish_summed(struct ina_comm *comm)
{
	note_sums(comm);
	comm->stats.calls++;
	comm->stats.overflows += comm->summed_overflow;
	ina_collective_finish(comm, INA_OK);
}

static void finish_by_ring(struct ina_comm *comm)
{
	struct ina_stats *stats = &comm->stats;

	stats->messages_ring += comm->ring.in_count;
	stats->bytes_ring += comm->first->transfer.total_bytes - comm->summed_bytes;
	stats->calls++;
	stats->overflows += comm->summed_overflow || comm->ring.overflow;
	comm->rejoin.due |= comm->ring.wish;
	ina_collective_finish(comm, INA_OK);
}

/* Ends the first requests that are done. Returns whether there were any. */
static bool finish_done(struct ina_comm *comm)
{
	bool any = false;

	while (comm->first && comm->first->active && transferred(comm)) {
		any = true;
		if (comm->aggregated)
			finish_summed(comm);
		else
			finish_by_ring(comm);
	}
	return any;
}

/* Those behind the first one wait for their turn again: the ring takes one at a time. */
static void recall(struct ina_comm *comm)
{
	for (struct ina_request *r = comm->first->next; r && r->active; r = r->next) {
		release_memory(r, false);
		r->active = false;
	}
}

enum ina_status ina_collective_resume(struct ina_comm *comm, struct ina_failure *failure)
{
	/* Ranks that had all sums by themselves are gone to other things: nothing to send. */
	while (ina_innet_is_busy(&comm->window) && ina_innet_is_summed(&comm->window))
		finish_summed(comm);
	if (!ina_innet_is_busy(&comm->window))
		return INA_OK;
	note_sums(comm);
	recall(comm);
	ina_innet_stop(&comm->window);
	return ina_collective_transfer(comm, failure);
}

static void explain_timeout(const struct ina_comm *comm, struct ina_failure *failure)
{
	int timeout_ms = comm->settings.options.timeout_ms;
	const struct ina_innet *window = &comm->window;
	const struct ina_ring *ring = &comm->ring;

	if (comm->aggregated && !ina_innet_is_summed(window))
		ina_fail(failure, INA_ERR_TIMEOUT,
		         "got no sum of message %" PRIu64 " of %" PRIu64 " in %d ms",
		         ina_innet_sums(window), ina_innet_oldest(window)->count, timeout_ms);
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
 * All ranks are in a call and have waited for a while, so this is no late rank. A lost tail is
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
	       ina_all_stalled(&comm->control);
}

/*
 * The clock, and with it the time of the latest progress. It is read before a wait, and where
 * nothing has come, but not for each completion: not everywhere is that as cheap as it should be.
 */
static int64_t read_clock(struct ina_comm *comm)
{
	int64_t now_ms = ina_now_ms();

	if (comm->moved) {
		comm->progressed_ms = now_ms;
		ina_end_stall(&comm->control);
	}
	comm->moved = false;
	return now_ms;
}

/* Is what has come over the control channel a fault? */
static bool is_disturbed(struct ina_comm *comm)
{
	comm->control.news = false;
	if (!ina_disturbed(&comm->control, &comm->current))
		return false;
	ina_comm_fault(comm, NULL);
	return true;
}

/* Nothing has come for a moment: is anything wrong? */
static void look_around(struct ina_comm *comm)
{
	struct ina_failure failure;
	int64_t now_ms = read_clock(comm);

	if (is_disturbed(comm))
		return;
	if (now_ms >= comm->deadline_ms) {
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

static enum ina_status begin_transfers(struct ina_comm *comm, struct ina_failure *failure)
{
	return comm->first->active ? fill_window(comm, failure) : activate(comm, failure);
}

/*
 * Takes the completions that are there, or waits for some, and goes on as far as they allow.
 * Returns whether anything came of it; else there is time to look round.
 */
static bool take_completions(struct ina_comm *comm, int timeout_ms)
{
	struct ina_failure failure;
	int count = 0;
	enum ina_status status = complete(comm, timeout_ms, &count, &failure);

	ina_collective_release(comm, false);
	if (status == INA_OK && count > 0)
		status = advance(comm, &failure);
	if (status != INA_OK) {
		ina_comm_fault(comm, &failure);
		return true;
	}
	if (finish_done(comm))
		return true;
	if (count > 0)
		comm->moved = true;
	return count > 0;
}

static void step_transfer(struct ina_comm *comm, int timeout_ms)
{
	if (comm->control.news && is_disturbed(comm))
		return;
	if (take_completions(comm, timeout_ms))
		return;
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

void ina_collective_work(struct ina_comm *comm)
{
	struct ina_failure failure;

	if (comm->phase == INA_STEADY && begin_transfers(comm, &failure) != INA_OK)
		ina_comm_fault(comm, &failure);
	if (comm->phase == INA_STEADY && !comm->control.news)
		take_completions(comm, 0);
	else
		ina_collective_step(comm, 0);
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
	if (comm->phase == INA_STEADY && begin_transfers(comm, &failure) != INA_OK)
		ina_comm_fault(comm, &failure);
	if (comm->phase == INA_STEADY)
		step_transfer(comm, timeout_ms);
	else
		ina_comm_mend(comm, bounded(comm, timeout_ms));
}
