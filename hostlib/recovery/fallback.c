/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults: settled among all ranks. Where only the aggregator is to blame, the ring takes over;
 * ARCHITECTURE.md, "The ring takes over", says why every sum is right then.
 */
#include <stdio.h>
#include <string.h>

#include "common/deadline.h"
#include "hostlib/engine/comm.h"
#include "hostlib/options/log.h"

/* For a last message to leave the host before its queue pair is stopped. */
#define PARTING_MS 20

/* Nothing is received on the aggregated connections from now on: what is summed, stays so. */
static void leave_aggregator(struct ina_comm *comm)
{
	struct ina_innet *window = &comm->window;
	bool was_busy = ina_innet_is_busy(window);

	if (was_busy)
		comm->stats.messages_retried += window->posted - window->received;
	ina_innet_salvage(window);
	ina_innet_abandon(window);
	poll(NULL, 0, PARTING_MS);
	ina_fabric_drop(&comm->fabric, INA_PURPOSE_AGGREGATE);
	ina_collective_release(comm, true);
	window->connection.epoch++;
	comm->interrupted = was_busy;
	comm->aggregated = false;
}

/* Of the current all-reduce: the message that has not come. */
static uint32_t message_index(const struct ina_comm *comm)
{
	if (!comm->aggregated)
		return (uint32_t)comm->ring.in.index;
	return ina_innet_is_busy(&comm->window) ? (uint32_t)ina_innet_sums(&comm->window) : 0;
}

void ina_comm_fault(struct ina_comm *comm, const struct ina_failure *failure)
{
	struct ina_fault_agreement *settlement = &comm->settlement;
	struct ina_fault *fault = &settlement->fault;
	int64_t now_ms = ina_now_ms();

	if (comm->phase == INA_AGREEING)
		return;
	*fault = (struct ina_fault){
	        .current = comm->current,
	        .previous = comm->previous,
	        .sums = comm->window.received,
	};
	if (failure) {
		fault->status = failure->status;
		fault->message = message_index(comm);
		snprintf(fault->text, sizeof(fault->text), "%.*s", INA_CONTROL_TEXT - 1,
		         failure->text);
	}
	settlement->may_recover = comm->phase == INA_STEADY && comm->aggregated && !comm->plain &&
	                          comm->settings.options.algorithm == INA_ALGORITHM_AUTO;
	settlement->deadline_ms = comm->first && comm->first->active
	                                  ? comm->deadline_ms
	                                  : now_ms + comm->settings.options.timeout_ms;
	comm->phase = INA_AGREEING;
	if (settlement->may_recover)
		leave_aggregator(comm);
	ina_fault_agreement_begin(settlement, &comm->control);
}

/* The end. The caller gets its memory back: nothing may be written to it from now on. */
static void die(struct ina_comm *comm)
{
	comm->latest = comm->failure;
	if (comm->aggregated) {
		ina_innet_abandon(&comm->window);
		poll(NULL, 0, PARTING_MS);
	}
	ina_fabric_silence(&comm->fabric);
	comm->phase = INA_STEADY;
	ina_collective_abort(comm);
}

/* All ranks have all sums that any rank has: the first request goes on behind them, by ring. */
static enum ina_status go_on(struct ina_comm *comm, struct ina_failure *failure)
{
	bool interrupted = comm->interrupted;

	comm->phase = INA_STEADY;
	comm->interrupted = false;
	comm->control.news = true;
	comm->stats.fallbacks++;
	comm->stats.algorithm = INA_ALGORITHM_RING;
	comm->progressed_ms = ina_now_ms();
	ina_rejoin_later(comm);
	return interrupted ? ina_collective_resume(comm, failure) : INA_OK;
}

/* In the spare, behind that many sums: a byte for each that says whether it overflowed. */
static uint8_t *notes_of(const struct ina_comm *comm, uint64_t count)
{
	return comm->spare + count * comm->window.connection.limit_bytes;
}

/*
 * The owner's sums go round the ring as 32-bit words to which the others add zeros: bit by bit what
 * they were, whatever they are.
 */
static enum ina_status start_repair(struct ina_comm *comm, struct ina_failure *failure)
{
	const struct ina_plan *plan = &comm->plan;
	const struct ina_innet *window = &comm->window;
	uint64_t own = comm->settlement.fault.sums;
	uint64_t count = plan->until - plan->from;
	struct ina_transfer transfer = {
	        .send = comm->spare,
	        .recv = comm->spare,
	        .total_bytes = count * window->connection.limit_bytes + (count + 3) / 4 * 4,
	        .element_bytes = sizeof(uint32_t),
	        .type = INA_INT32,
	        .op = INA_SUM,
	        .send_lkey = window->connection.lkey,
	        .recv_lkey = window->connection.lkey,
	};

	if (plan->from > own || plan->until < own || count > window->connection.window)
		return ina_fail(failure, INA_ERR_MISMATCH,
		                "rank 0's plan to go on without the aggregator makes no sense");
	if (count == 0)
		return go_on(comm, failure);
	memset(comm->spare, 0, transfer.total_bytes);
	if (plan->owner == (uint32_t)comm->rank) {
		for (uint64_t i = 0; i < count; i++)
			notes_of(comm, count)[i] = ina_innet_copy_sum(
			        window, plan->from + i,
			        comm->spare + i * window->connection.limit_bytes);
	}
	comm->phase = INA_REPAIRING;
	ina_ring_start(&comm->ring, &transfer);
	return ina_ring_advance(&comm->ring, failure);
}

static enum ina_status finish_repair(struct ina_comm *comm, struct ina_failure *failure)
{
	struct ina_innet *window = &comm->window;
	uint32_t limit_bytes = window->connection.limit_bytes;
	uint64_t count = comm->plan.until - comm->plan.from;

	comm->stats.messages_ring += comm->ring.in_count;
	for (uint64_t i = comm->settlement.fault.sums - comm->plan.from; i < count; i++)
		ina_innet_supply(window, comm->spare + i * limit_bytes,
		                 notes_of(comm, count)[i] != 0);
	return go_on(comm, failure);
}

static enum ina_status step_settling(struct ina_comm *comm, struct ina_failure *failure)
{
	switch (ina_fault_agreement_poll(&comm->settlement, &comm->control, &comm->plan,
	                                 &comm->failure)) {
	case INA_FAULT_PENDING:
		return INA_OK;
	case INA_FAULT_FATAL:
		die(comm);
		return INA_OK;
	case INA_FAULT_RECOVERABLE:
		break;
	}
	ina_log(comm, "all-reduce %llu goes on by ring: %s",
	        (unsigned long long)comm->current.number,
	        comm->settlement.fault.status == INA_OK
	                ? "the aggregator dropped out at other ranks"
	                : comm->settlement.fault.text);
	comm->phase = INA_REPAIRING; /* a fault from here on is another one */
	return start_repair(comm, failure);
}

/* A fault elsewhere, or the end of the time for the call. */
static bool is_disturbed(struct ina_comm *comm, struct ina_failure *failure)
{
	failure->status = INA_OK;
	if (ina_disturbed(&comm->control, &comm->current))
		return true;
	if (ina_now_ms() < comm->settlement.deadline_ms)
		return false;
	ina_fail(failure, INA_ERR_TIMEOUT, "could not go on without the aggregator in %d ms",
	         comm->settings.options.timeout_ms);
	return true;
}

static enum ina_status step_repairing(struct ina_comm *comm, int count, struct ina_failure *failure)
{
	enum ina_status status = count > 0 ? ina_ring_advance(&comm->ring, failure) : INA_OK;

	if (status != INA_OK)
		return status;
	if (ina_ring_done(&comm->ring))
		return finish_repair(comm, failure);
	if (is_disturbed(comm, failure)) {
		ina_comm_fault(comm, failure->status == INA_OK ? NULL : failure);
		return INA_OK;
	}
	return INA_OK;
}

void ina_comm_mend(struct ina_comm *comm, int timeout_ms)
{
	struct ina_failure failure;
	int count = 0;
	enum ina_status status;

	if (comm->phase == INA_AGREEING)
		timeout_ms = ina_fault_agreement_tick(&comm->settlement, timeout_ms);
	status = timeout_ms > 0 ? ina_progress_wait(comm, timeout_ms, &count, &failure)
	                        : ina_progress_poll(comm, &count, &failure);

	ina_control_pump(&comm->control, 0);
	switch (comm->phase) {
	case INA_STEADY:
		break;
	case INA_AGREEING: /* what fails now can only be of the same fault */
		status = step_settling(comm, &failure);
		break;
	case INA_REPAIRING:
		if (status == INA_OK)
			status = step_repairing(comm, count, &failure);
		break;
	case INA_REJOINING:
		if (status == INA_OK || status == INA_ERR_AGGREGATOR)
			status = ina_rejoin_step(comm, &failure);
		break;
	}
	if (status != INA_OK)
		ina_comm_fault(comm, &failure);
}
