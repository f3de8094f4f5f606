/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine. If the algorithm has room for several all-reduces, later ones start as soon as
 * possible. Deadlines, stalls and timeouts always concern the oldest one, which is the current
 * call.
 */
#include "engine.h"

#include <assert.h>
#include <inttypes.h>

#include "common/deadline.h"
#include "queue.h"

/*
 * The most steps, of up to 16 completions each, for a caller that does not want to wait. Without a
 * limit, a call could last as long as its all-reduce, if messages arrive as fast as they are
 * handled.
 */
#define STEPS_AT_ONCE 8

static_assert(INA_COMM_FDS <= INA_POLLSET_FDS, "a pollset has room for all that is waited for");

void ina_comm_init(struct ina_comm *comm, const struct ina_settings *settings)
{
	comm->settings = *settings;
	comm->rank = settings->options.rank;
	comm->ranks = settings->options.ranks;
	ina_pollset_init(&comm->pollset);
	comm->recovery.context = (struct ina_recovery_context){
	        .control = &comm->control,
	        .network = &comm->network,
	        .settings = &comm->settings,
	        .log = &comm->log,
	        .stats = &comm->stats,
	        .turn = &comm->turn,
	};
}

void ina_comm_use(struct ina_comm *comm, const struct ina_algorithm_row *algorithm, void *state)
{
	comm->algorithm = algorithm;
	comm->algorithm_state = state;
}

static void use_network(struct ina_comm *comm, bool aggregated)
{
	if (aggregated)
		ina_comm_use(comm, &ina_in_network_algorithm, &comm->network.innet);
	else
		ina_comm_use(comm, &ina_hosts_algorithm, &comm->network.hosts);
}

void ina_comm_abort(struct ina_comm *comm)
{
	if (comm->algorithm)
		comm->algorithm->abort(comm->algorithm_state);
	while (comm->first)
		ina_queue_finish(comm, comm->failure.status, 0);
}

bool ina_comm_take_abort(struct ina_comm *comm)
{
	if (!atomic_load(&comm->abort.asked) || comm->failure.status != INA_OK)
		return false;
	ina_fail(&comm->failure, INA_ERR_ABORTED, "rank %d aborted: %s", comm->rank,
	         comm->abort.why);
	comm->latest = comm->failure;
	/* Do not ask the other ranks, because they may have ended. */
	if (comm->ranks > 1)
		ina_control_farewell(&comm->control, &comm->failure);
	comm->recovery.phase = INA_STEADY;
	ina_comm_abort(comm);
	return true;
}

enum ina_status ina_request_start(struct ina_comm *comm, const struct ina_collective *what,
                                  struct ina_request **request)
{
	struct ina_caller *caller = ina_callers_find(&comm->callers);
	struct ina_request *made;

	ina_comm_take_abort(comm);
	if (comm->failure.status != INA_OK) {
		comm->latest = comm->failure;
		return comm->failure.status;
	}
	made = ina_request_make(comm, what);
	if (!made)
		return ina_fail(&comm->latest, INA_ERR_MEMORY, "no memory for a request");
	made->is_grouped = caller && caller->group.is_open;
	if (made->is_grouped)
		ina_request_append(&caller->group.first, &caller->group.last, made);
	else
		ina_request_append(&comm->first, &comm->last, made);
	*request = made;
	return INA_OK;
}

/*
 * The aggregator has failed, and all ranks have the same sums. Requests that have all their sums
 * end. The ring carries out the rest of the first remaining one, and those after it wait for their
 * turn again.
 */
static enum ina_status go_on_by_ring(struct ina_comm *comm, struct ina_failure *failure)
{
	struct ina_innet *innet = &comm->network.innet;
	struct ina_transfer *rest;
	uint64_t summed_bytes;

	/*
	 * Requests with all sums end without any exchange, because other ranks may have ended them
	 * already.
	 */
	while (ina_innet_is_busy(innet) && ina_innet_is_summed(innet))
		ina_queue_finish_done(comm, &ina_in_network_algorithm, innet);
	if (comm->first && comm->first->active && comm->first->apart)
		return ina_apart_go_on(&comm->network.apart, failure);
	if (!ina_innet_is_busy(innet))
		return INA_OK;
	summed_bytes = ina_innet_summed_bytes(innet);
	rest = &comm->first->transfer;
	rest->overflowed = ina_innet_count(innet, &comm->stats);
	rest->send += summed_bytes;
	rest->recv += summed_bytes;
	rest->total_bytes -= summed_bytes;
	for (struct ina_request *r = comm->first->next; r && r->active; r = r->next) {
		ina_request_release(r, 0);
		r->active = false;
	}
	ina_innet_stop(innet);
	return ina_queue_start_first(comm, failure);
}

void ina_comm_fault(struct ina_comm *comm, const struct ina_failure *failure)
{
	const struct ina_algorithm_row *algorithm = ina_comm_row(comm);

	ina_recovery_begin(
	        &comm->recovery, failure,
	        algorithm && algorithm->position ? algorithm->position(ina_comm_state(comm)) : 0,
	        ina_comm_is_aggregated(comm));
	if (comm->recovery.agreement.may_recover)
		use_network(comm, false);
}

bool ina_comm_recover(struct ina_comm *comm, int timeout_ms)
{
	struct ina_failure failure;
	bool moved;
	enum ina_status status = INA_OK;
	enum ina_recovery_result result =
	        ina_recovery_step(&comm->recovery, timeout_ms, &moved, &failure);

	if (result == INA_RECOVERY_UNDER_WAY)
		return moved;
	if (result == INA_RECOVERY_FATAL) {
		comm->failure = comm->latest = failure;
		ina_comm_abort(comm);
		return moved;
	}
	comm->control.news = true;
	comm->turn.progressed_ms = ina_now_ms();
	use_network(comm, result == INA_RECOVERY_REJOINED);
	status = result == INA_RECOVERY_RING ? go_on_by_ring(comm, &failure)
	                                     : ina_queue_start_first(comm, &failure);
	if (status != INA_OK)
		ina_comm_fault(comm, &failure);
	return true;
}

/* All ranks are in a call and have waited for long, so no rank is late. */
static bool aggregator_is_dead(const struct ina_comm *comm, int64_t now_ms)
{
	int64_t patience_ms = ina_recovery_patience_ms(&comm->settings.options);

	return ina_comm_is_aggregated(comm) &&
	       now_ms - comm->turn.progressed_ms >= INA_STALL_MS + patience_ms &&
	       ina_all_stalled(&comm->control);
}

/*
 * Reads the clock, and updates the time of the last progress. It is called before a wait and when
 * nothing has arrived, but not for each completion, because reading the clock is slow on some
 * machines.
 */
static int64_t read_clock(struct ina_comm *comm)
{
	int64_t now_ms = ina_now_ms();

	if (comm->turn.moved) {
		comm->turn.progressed_ms = now_ms;
		ina_end_stall(&comm->control);
	}
	comm->turn.moved = false;
	return now_ms;
}

/* Is there a fault among the frames of the control channel? */
static bool is_disturbed(struct ina_comm *comm)
{
	comm->control.news = false;
	if (!ina_disturbed(&comm->control, &comm->turn.current))
		return false;
	ina_comm_fault(comm, NULL);
	return true;
}

/* Called when nothing has arrived for a moment: looks for faults. */
static void look_around(struct ina_comm *comm)
{
	const struct ina_algorithm_row *algorithm = ina_comm_row(comm);
	struct ina_failure failure;
	int64_t now_ms = read_clock(comm);
	int64_t waited_ms = now_ms - comm->turn.progressed_ms;

	if (is_disturbed(comm))
		return;
	/* A communicator of rails or channels has no network itself. */
	if (comm->network.transport.channel &&
	    (ina_transport_attend(&comm->network.transport, &failure) != INA_OK ||
	     (waited_ms >= INA_STALL_MS &&
	      ina_transport_look(&comm->network.transport, &failure) != INA_OK))) {
		ina_comm_fault(comm, &failure);
	} else if (algorithm->find_fault &&
	           algorithm->find_fault(ina_comm_state(comm), waited_ms, &failure)) {
		ina_comm_fault(comm, &failure);
	} else if (now_ms >= comm->turn.deadline_ms) {
		algorithm->explain_timeout(ina_comm_state(comm), comm->settings.options.timeout_ms,
		                           &failure);
		ina_comm_fault(comm, &failure);
	} else if (aggregator_is_dead(comm, now_ms)) {
		ina_fail(&failure, INA_ERR_AGGREGATOR,
		         "no sum has arrived for %" PRId64 " ms, although all ranks are waiting",
		         waited_ms);
		ina_comm_fault(comm, &failure);
	} else if (waited_ms >= INA_STALL_MS) {
		ina_tell_stall(&comm->control, &comm->turn.current);
	}
}

/*
 * Handles arrived completions. If nothing has arrived, waits up to timeout_ms (0: does not wait),
 * but not beyond the deadline. before_wait: this function or the caller waits next.
 */
static enum ina_status advance(struct ina_comm *comm, int timeout_ms, bool before_wait, bool *moved,
                               struct ina_failure *failure)
{
	const struct ina_algorithm_row *algorithm = ina_comm_row(comm);
	void *state = ina_comm_state(comm);
	enum ina_status status = algorithm->advance(state, before_wait, moved, failure);
	int64_t left_ms;

	if (status != INA_OK || *moved || timeout_ms == 0 || algorithm->is_done(state))
		return status;
	left_ms = comm->turn.deadline_ms - read_clock(comm);
	if (left_ms > timeout_ms)
		left_ms = timeout_ms;
	return algorithm->wait(state, left_ms > 0 ? (int)left_ms : 0, moved, failure);
}

/*
 * Handles completions, or waits for them, and makes all progress that they allow. Returns whether
 * there was any progress; if not, the caller has time to look for faults.
 */
static bool go_on(struct ina_comm *comm, int timeout_ms, bool before_wait)
{
	struct ina_failure failure;
	bool moved = false;
	bool finished = false;
	enum ina_status status = advance(comm, timeout_ms, before_wait, &moved, &failure);

	if (status == INA_OK && moved)
		status = ina_queue_start_next(comm, &failure);
	if (status != INA_OK) {
		ina_comm_fault(comm, &failure);
		return true;
	}
	while (comm->first && comm->first->active &&
	       ina_comm_row(comm)->is_done(ina_comm_state(comm))) {
		ina_queue_finish_done(comm, ina_comm_row(comm), ina_comm_state(comm));
		finished = true;
	}
	if (finished)
		return true;
	if (moved)
		comm->turn.moved = true;
	return moved;
}

/* Limits a wait to the deadline of the first request; 0 stays 0. */
static int bounded(const struct ina_comm *comm, int timeout_ms)
{
	int left_ms;

	if (timeout_ms == 0 || !comm->turn.under_way)
		return timeout_ms;
	left_ms = ina_left_ms(comm->turn.deadline_ms, timeout_ms);
	return left_ms > 0 ? left_ms : 1;
}

static void start_or_fault(struct ina_comm *comm)
{
	struct ina_failure failure;

	if (!ina_comm_is_recovering(comm) && ina_queue_start(comm, &failure) != INA_OK)
		ina_comm_fault(comm, &failure);
}

static bool step(struct ina_comm *comm, int timeout_ms, bool before_wait)
{
	if (ina_comm_take_abort(comm))
		return true;
	if (!ina_comm_is_busy(comm))
		return false;
	start_or_fault(comm);
	if (ina_comm_is_recovering(comm))
		return ina_comm_recover(comm, bounded(comm, timeout_ms));
	if (comm->control.news && is_disturbed(comm))
		return false;
	if (go_on(comm, timeout_ms, before_wait))
		return true;
	ina_control_pump(&comm->control, 0);
	look_around(comm);
	return false;
}

bool ina_comm_step(struct ina_comm *comm, int timeout_ms)
{
	return step(comm, timeout_ms, timeout_ms > 0);
}

enum ina_status ina_request_wait(struct ina_request *request)
{
	while (!request->done)
		ina_comm_step(request->comm, INA_LOOK_MS);
	return ina_request_take(request);
}

bool ina_comm_work(struct ina_comm *comm)
{
	start_or_fault(comm);
	if (ina_comm_is_recovering(comm) || comm->control.news)
		return ina_comm_step(comm, 0);
	return go_on(comm, 0, false);
}

/*
 * Takes completions, since another rank may lack this rank's last messages, on a queue pair whose
 * retries are used up.
 */
static void take_completions(struct ina_comm *comm)
{
	struct ina_failure failure;
	int count;

	/* A communicator of rails or channels has no network itself. */
	if (comm->network.transport.channel &&
	    ina_completions_poll(&comm->network.completions, &count, &failure) != INA_OK)
		ina_comm_fault(comm, &failure);
}

void ina_comm_attend(struct ina_comm *comm)
{
	bool moved = true;

	if (ina_comm_take_abort(comm) || comm->first || comm->ranks == 1 ||
	    comm->failure.status != INA_OK)
		return;
	ina_control_pump(&comm->control, 0);
	if (!ina_comm_is_recovering(comm))
		take_completions(comm);
	if (!ina_comm_is_recovering(comm) && ina_disturbed(&comm->control, &comm->turn.current))
		ina_comm_fault(comm, NULL);
	while (ina_comm_is_recovering(comm) && moved) {
		comm->algorithm->arm(comm->algorithm_state);
		moved = ina_comm_recover(comm, 0);
	}
}

bool ina_comm_exhaust(struct ina_comm *comm, const struct ina_request *until)
{
	comm->algorithm->arm(comm->algorithm_state);
	for (int i = 0; i < STEPS_AT_ONCE; i++) {
		if (!comm->first || (until && until->done) || !step(comm, 0, true))
			return true;
	}
	return false;
}

int ina_comm_pollfds(const struct ina_comm *comm, struct pollfd *fds)
{
	int count = ina_control_pollfds(&comm->control, fds);

	/*
	 * Without a request, do not poll the completion queue: a message may arrive before its
	 * call.
	 */
	if (ina_comm_is_busy(comm))
		count += comm->algorithm->pollfds(comm->algorithm_state, fds + count);
	return count;
}

/*
 * Stalls and timeouts are found only when the library is called, so the timer makes the caller call
 * it.
 */
enum ina_status ina_comm_open_pollset(struct ina_comm *comm, int *fd)
{
	struct pollfd fds[INA_COMM_FDS];
	enum ina_status status = INA_OK;

	if (comm->pollset.fd < 0) {
		status = ina_pollset_open(&comm->pollset, INA_LOOK_MS, comm->ranks == 1,
		                          &comm->latest);
		/* A single rank never waits. */
		if (status == INA_OK && comm->ranks > 1)
			ina_pollset_watch(&comm->pollset, fds, ina_comm_pollfds(comm, fds));
	}
	*fd = comm->pollset.fd;
	return status;
}

void ina_comm_arm_pollset(struct ina_comm *comm, const struct ina_request *request)
{
	struct pollfd fds[INA_COMM_FDS];

	bool all = ina_comm_exhaust(comm, request);

	ina_pollset_watch(&comm->pollset, fds, ina_comm_pollfds(comm, fds));
	if (!all)
		ina_pollset_alarm(&comm->pollset);
}
