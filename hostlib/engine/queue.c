/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of collectives: starts and ends requests, and keeps track of the current call. */
#include "queue.h"

#include "collective.h"
#include "common/deadline.h"
#include "count.h"
#include "request.h"

/* When all aggregated requests are done, the job gives up its context and the ring takes over. */
static bool gives_way(const struct ina_comm *comm)
{
	return ina_comm_is_aggregated(comm) && ina_innet_leaves(&comm->network.innet);
}

/* The next request that may start while others are under way; NULL: none. */
static struct ina_request *next_to_start(struct ina_comm *comm)
{
	const struct ina_algorithm_row *algorithm = comm->algorithm;
	struct ina_request *next = comm->first;

	if (!next || !next->active || gives_way(comm) || !algorithm->has_room ||
	    !algorithm->has_room(comm->algorithm_state))
		return NULL;
	while (next && next->active)
		next = next->next;
	/*
	 * One that bypasses the aggregator uses other connections, so such requests run one after
	 * the other.
	 */
	if (comm->first->apart || (next && next->apart))
		return NULL;
	for (const struct ina_request *r = comm->first; next && r != next; r = r->next) {
		if (ina_request_depends(next, r))
			return NULL;
	}
	return next;
}

enum ina_status ina_queue_start_next(struct ina_comm *comm, struct ina_failure *failure)
{
	struct ina_request *next = next_to_start(comm);
	enum ina_status status = INA_OK;

	while (status == INA_OK && next && ina_request_prepare(next, failure) == INA_OK) {
		next->active = true;
		status = comm->algorithm->start(comm->algorithm_state, &next->transfer, failure);
		next = next_to_start(comm);
	}
	return status;
}

enum ina_status ina_queue_start_first(struct ina_comm *comm, struct ina_failure *failure)
{
	const struct ina_algorithm_row *algorithm = ina_comm_row(comm);
	enum ina_status status = INA_OK;

	if (algorithm == &ina_hosts_algorithm)
		ina_rejoin_ask(&comm->recovery.rejoin, &comm->recovery.context);
	/* struct ina_apart begins with struct ina_hosts. */
	if (algorithm == &ina_hosts_algorithm || algorithm == &ina_apart_algorithm)
		status = ina_request_make_wide(comm->first, ina_comm_state(comm), failure);
	if (status == INA_OK)
		status = algorithm->start(ina_comm_state(comm), &comm->first->transfer, failure);
	return status == INA_OK ? ina_queue_start_next(comm, failure) : status;
}

/* Makes the first request's call the current one. */
static void begin_turn(struct ina_comm *comm)
{
	struct ina_request *request = comm->first;
	struct ina_turn *turn = &comm->turn;

	request->active = true;
	turn->under_way = true;
	turn->previous = turn->current;
	turn->current = (struct ina_call){
	        .number = turn->previous.number + 1,
	        .count = request->what.count,
	        .kind = (uint16_t)request->what.kind,
	        .root = (uint16_t)request->what.root,
	        .type = (uint16_t)request->what.type,
	        .op = (uint16_t)request->what.op,
	};
	comm->control.news = true; /* frames that arrived earlier may concern this call */
	turn->began_ms = turn->progressed_ms = ina_now_ms();
	turn->moved = false;
	turn->deadline_ms = turn->began_ms + comm->settings.options.timeout_ms;
}

enum ina_status ina_queue_start(struct ina_comm *comm, struct ina_failure *failure)
{
	enum ina_status status;

	if (comm->first->active)
		return ina_queue_start_next(comm, failure);
	if (gives_way(comm))
		return ina_fail(failure, INA_ERR_AGGREGATOR,
		                "another job needs this job's context");
	begin_turn(comm);
	status = ina_request_prepare(comm->first, failure);
	if (status != INA_OK)
		return status;
	if (!comm->recovery.rejoin.due)
		return ina_queue_start_first(comm, failure);
	ina_recovery_rejoin(&comm->recovery);
	return INA_OK;
}

void ina_queue_finish(struct ina_comm *comm, enum ina_status status, uint64_t until)
{
	struct ina_request *request = comm->first;

	ina_end_stall(&comm->control);
	ina_request_release(request, until);
	request->done = true;
	request->status = status;
	comm->turn.under_way = false;
	comm->first = request->next;
	/* Only the members refer to this request. */
	if (request->members) {
		ina_request_end_all(request->members, status);
		request->members = NULL;
		ina_request_take(request);
	}
	if (!comm->first)
		comm->last = NULL;
	else if (comm->first->active && status == INA_OK)
		begin_turn(comm);
}

void ina_queue_finish_done(struct ina_comm *comm, const struct ina_algorithm_row *algorithm,
                           void *state)
{
	struct ina_request *request = comm->first;
	uint64_t until;
	bool overflow = algorithm->end(state, &comm->stats, &until);

	/* An aggregator also reports that a sum of uint32 overflows as int32. */
	request->overflowed =
	        (overflow || request->transfer.overflowed) && request->transfer.type == INA_INT32;
	comm->stats.overflows += request->overflowed;
	comm->stats.calls++;
	ina_count_call(comm, algorithm, state);
	ina_collective_end(request);
	if (algorithm == &ina_hosts_algorithm)
		ina_rejoin_note(&comm->recovery.rejoin, &comm->recovery.context);
	if (algorithm == &ina_in_network_algorithm && algorithm == comm->algorithm)
		ina_rejoin_heed(&comm->recovery.rejoin, &comm->recovery.context);
	/* If the connection was dropped, no send reads the memory any more, so release it now. */
	ina_queue_finish(comm, INA_OK, algorithm == comm->algorithm ? until : 0);
	if (algorithm == &ina_in_network_algorithm)
		ina_memory_release(&comm->network.memory,
		                   ina_innet_acknowledged(&comm->network.innet));
}
