/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine. Where the algorithm has room for several all-reduces, the next ones start as soon as
 * they can. Deadlines, stalls and timeouts always concern the oldest one, whose turn it is.
 */
#include <assert.h>
#include <inttypes.h>

#include "collective.h"
#include "common/deadline.h"
#include "request.h"

static_assert(INA_COMM_FDS <= INA_POLLSET_FDS, "a pollset has room for all that is waited for");

void ina_comm_init(struct ina_comm *comm)
{
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

/* The next one that may start behind those that are under way; NULL: none may. */
static struct ina_request *next_to_start(struct ina_comm *comm)
{
	const struct ina_algorithm_row *algorithm = comm->algorithm;
	struct ina_request *next = comm->first;

	if (!next || !next->active || !algorithm->has_room ||
	    !algorithm->has_room(comm->algorithm_state))
		return NULL;
	while (next && next->active)
		next = next->next;
	for (const struct ina_request *r = comm->first; next && r != next; r = r->next) {
		if (ina_request_depends(next, r))
			return NULL;
	}
	return next;
}

/* If its buffers cannot be registered now, it starts when earlier requests are done. */
static enum ina_status start_next(struct ina_comm *comm, struct ina_failure *failure)
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

/*
 * Starts the first request (after a fallback: what is left of it), and those that may go with it.
 */
static enum ina_status start_first(struct ina_comm *comm, struct ina_failure *failure)
{
	enum ina_status status;

	if (comm->algorithm == &ina_hosts_algorithm)
		ina_rejoin_ask(&comm->recovery.rejoin, &comm->recovery.context);
	status = comm->algorithm->start(comm->algorithm_state, &comm->first->transfer, failure);
	return status == INA_OK ? start_next(comm, failure) : status;
}

/* The first request's turn has come: its call is the current one from now on. */
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
	comm->control.news = true; /* what came before may concern this call */
	turn->progressed_ms = ina_now_ms();
	turn->moved = false;
	turn->deadline_ms = turn->progressed_ms + comm->settings.options.timeout_ms;
}

/* Starts the first request if it is not under way, and those that may go with it. */
static enum ina_status start(struct ina_comm *comm, struct ina_failure *failure)
{
	enum ina_status status;

	if (comm->first->active)
		return start_next(comm, failure);
	begin_turn(comm);
	status = ina_request_prepare(comm->first, failure);
	if (status != INA_OK)
		return status;
	if (!comm->recovery.rejoin.due)
		return start_first(comm, failure);
	ina_recovery_rejoin(&comm->recovery);
	return INA_OK;
}

/* Ends the first request; the next one's turn begins if it is under way already. */
static void finish(struct ina_comm *comm, enum ina_status status, uint64_t until)
{
	struct ina_request *request = comm->first;

	ina_end_stall(&comm->control);
	ina_request_release(request, until);
	request->done = true;
	request->status = status;
	comm->turn.under_way = false;
	comm->first = request->next;
	if (!comm->first)
		comm->last = NULL;
	else if (comm->first->active && status == INA_OK)
		begin_turn(comm);
}

/* The first request's result is there. */
static void finish_done(struct ina_comm *comm, const struct ina_algorithm_row *algorithm,
                        void *state)
{
	struct ina_request *request = comm->first;
	uint64_t until;
	bool overflow = algorithm->end(state, &comm->stats, &until);

	/* An aggregator tells of sums of uint32, too, that they overflow as int32. */
	comm->stats.overflows +=
	        (overflow || request->transfer.overflowed) && request->transfer.type == INA_INT32;
	comm->stats.calls++;
	ina_collective_end(request);
	if (algorithm == &ina_hosts_algorithm)
		ina_rejoin_note(&comm->recovery.rejoin, &comm->recovery.context);
	/* Where the connection has been dropped, no send reads the memory any more: now. */
	finish(comm, INA_OK, algorithm == comm->algorithm ? until : 0);
	if (algorithm == &ina_in_network_algorithm)
		ina_memory_release(&comm->network.memory,
		                   ina_innet_acknowledged(&comm->network.innet));
}

void ina_comm_abort(struct ina_comm *comm)
{
	if (comm->algorithm)
		comm->algorithm->abort(comm->algorithm_state);
	while (comm->first)
		finish(comm, comm->failure.status, 0);
}

/*
 * The aggregator has dropped out, and all ranks have the same sums: requests of which all sums are
 * there end. What is left of the first of the others goes on by ring, and those behind it wait for
 * their turn again.
 */
static enum ina_status go_on_by_ring(struct ina_comm *comm, struct ina_failure *failure)
{
	struct ina_innet *innet = &comm->network.innet;
	struct ina_transfer *rest;
	uint64_t summed_bytes;

	/* Complete ones just end: other ranks may have left them already, so nothing is exchanged.
	 */
	while (ina_innet_is_busy(innet) && ina_innet_is_summed(innet))
		finish_done(comm, &ina_in_network_algorithm, innet);
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
	return start_first(comm, failure);
}

void ina_comm_fault(struct ina_comm *comm, const struct ina_failure *failure)
{
	const struct ina_algorithm_row *algorithm = comm->algorithm;

	ina_recovery_begin(
	        &comm->recovery, failure,
	        algorithm && algorithm->position ? algorithm->position(comm->algorithm_state) : 0,
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
	                                     : start_first(comm, &failure);
	if (status != INA_OK)
		ina_comm_fault(comm, &failure);
	return moved;
}

/*
 * All ranks are in a call and have waited for a while, so this is no late rank. A lost tail is
 * sent again after an ACK timeout, and may be lost again: eight ACK timeouts must do. Three times
 * that, for a machine that is busy with other things is no dead aggregator.
 */
static bool aggregator_is_dead(const struct ina_comm *comm, int64_t now_ms)
{
	const struct ina_options *options = &comm->settings.options;
	int64_t ack_ms = ((int64_t)4096 << options->ack_timeout) / 1000000;
	int64_t join_ms = options->join_timeout_ms;
	int64_t patience_ms = join_ms > 8 * ack_ms ? 3 * join_ms : 24 * ack_ms;

	return ina_comm_is_aggregated(comm) &&
	       now_ms - comm->turn.progressed_ms >= INA_STALL_MS + patience_ms &&
	       ina_all_stalled(&comm->control);
}

/*
 * The clock, and with it the time of the latest progress. It is read before a wait, and where
 * nothing has come, but not for each completion: not everywhere is that as cheap as it should be.
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

/* Is what has come over the control channel a fault? */
static bool is_disturbed(struct ina_comm *comm)
{
	comm->control.news = false;
	if (!ina_disturbed(&comm->control, &comm->turn.current))
		return false;
	ina_comm_fault(comm, NULL);
	return true;
}

/* Nothing has come for a moment: is anything wrong? */
static void look_around(struct ina_comm *comm)
{
	const struct ina_algorithm_row *algorithm = comm->algorithm;
	struct ina_failure failure;
	int64_t now_ms = read_clock(comm);
	int64_t waited_ms = now_ms - comm->turn.progressed_ms;

	if (is_disturbed(comm))
		return;
	/* Rails have networks of their own. */
	if (comm->network.fabric.channel &&
	    ina_fabric_attend(&comm->network.fabric, &failure) != INA_OK) {
		ina_comm_fault(comm, &failure);
	} else if (algorithm->find_fault &&
	           algorithm->find_fault(comm->algorithm_state, waited_ms, &failure)) {
		ina_comm_fault(comm, &failure);
	} else if (now_ms >= comm->turn.deadline_ms) {
		algorithm->explain_timeout(comm->algorithm_state, comm->settings.options.timeout_ms,
		                           &failure);
		ina_comm_fault(comm, &failure);
	} else if (aggregator_is_dead(comm, now_ms)) {
		ina_fail(&failure, INA_ERR_AGGREGATOR,
		         "no sum has come for %" PRId64 " ms, though all ranks wait", waited_ms);
		ina_comm_fault(comm, &failure);
	} else if (waited_ms >= INA_STALL_MS) {
		ina_tell_stall(&comm->control, &comm->turn.current);
	}
}

/*
 * What has come; if nothing has, waits for it, up to timeout_ms (0: not) and the deadline.
 * before_wait: somebody waits next, this function or the caller.
 */
static enum ina_status advance(struct ina_comm *comm, int timeout_ms, bool before_wait, bool *moved,
                               struct ina_failure *failure)
{
	const struct ina_algorithm_row *algorithm = comm->algorithm;
	void *state = comm->algorithm_state;
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
 * Takes in what there is, or waits for it, and goes on as far as that allows. Returns whether
 * anything came of it; else there is time to look round.
 */
static bool go_on(struct ina_comm *comm, int timeout_ms, bool before_wait)
{
	struct ina_failure failure;
	bool moved = false;
	bool finished = false;
	enum ina_status status = advance(comm, timeout_ms, before_wait, &moved, &failure);

	if (status == INA_OK && moved)
		status = start_next(comm, &failure);
	if (status != INA_OK) {
		ina_comm_fault(comm, &failure);
		return true;
	}
	while (comm->first && comm->first->active &&
	       comm->algorithm->is_done(comm->algorithm_state)) {
		finish_done(comm, comm->algorithm, comm->algorithm_state);
		finished = true;
	}
	if (finished)
		return true;
	if (moved)
		comm->turn.moved = true;
	return moved;
}

/* A wait of at most timeout_ms that ends with the first request's time; 0 is no wait. */
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

	if (!ina_comm_is_recovering(comm) && start(comm, &failure) != INA_OK)
		ina_comm_fault(comm, &failure);
}

static bool step(struct ina_comm *comm, int timeout_ms, bool before_wait)
{
	if (!comm->first)
		return false;
	start_or_fault(comm);
	if (ina_comm_is_recovering(comm))
		return ina_comm_recover(comm, bounded(comm, timeout_ms));
	if (comm->control.news && is_disturbed(comm))
		return false;
	if (go_on(comm, timeout_ms, before_wait))
		return true;
	if (timeout_ms == 0)
		ina_control_pump(&comm->control, 0);
	look_around(comm);
	return false;
}

bool ina_comm_step(struct ina_comm *comm, int timeout_ms)
{
	return step(comm, timeout_ms, timeout_ms > 0);
}

bool ina_comm_work(struct ina_comm *comm)
{
	start_or_fault(comm);
	if (ina_comm_is_recovering(comm) || comm->control.news)
		return ina_comm_step(comm, 0);
	return go_on(comm, 0, false);
}

void ina_comm_attend(struct ina_comm *comm)
{
	bool moved = true;

	if (comm->first || comm->ranks == 1 || comm->failure.status != INA_OK)
		return;
	ina_control_pump(&comm->control, 0);
	if (!ina_comm_is_recovering(comm) && ina_disturbed(&comm->control, &comm->turn.current))
		ina_comm_fault(comm, NULL);
	while (ina_comm_is_recovering(comm) && moved) {
		comm->algorithm->arm(comm->algorithm_state);
		moved = ina_comm_recover(comm, 0);
	}
}

/* Waits for completions, or goes on with a recovery, and hears what other ranks say meanwhile. */
static void await_acknowledgements(struct ina_comm *comm, int timeout_ms)
{
	struct ina_network *network = &comm->network;
	struct ina_failure failure;
	int count;

	if (ina_comm_is_recovering(comm)) {
		ina_comm_recover(comm, timeout_ms);
		return;
	}
	if (ina_completions_wait(&network->completions, timeout_ms, &count, &failure) != INA_OK)
		ina_comm_fault(comm, &failure);
	else if (comm->control.news)
		is_disturbed(comm);
	ina_memory_release(&network->memory, ina_innet_acknowledged(&network->innet));
}

enum ina_status ina_comm_drain(struct ina_comm *comm, struct ina_failure *failure)
{
	const struct ina_network *network = &comm->network;
	const struct ina_memory *memory = &network->memory;
	int timeout_ms = comm->settings.options.timeout_ms;
	int64_t deadline_ms = ina_now_ms() + timeout_ms;
	bool failed = comm->failure.status != INA_OK;

	/* Once it has failed, its connections are stopped, and nothing is sent any more. */
	while (memory->deferred_count > 0 && comm->failure.status == INA_OK) {
		if (ina_now_ms() >= deadline_ms)
			return ina_fail(failure, INA_ERR_TIMEOUT,
			                "got no acknowledgement from rank %d in %d ms",
			                network->fabric.next[INA_PURPOSE_AGGREGATE].rank,
			                timeout_ms);
		await_acknowledgements(comm, ina_left_ms(deadline_ms, INA_STALL_MS));
	}
	if (failed || comm->failure.status == INA_OK)
		return INA_OK;
	*failure = comm->failure;
	return failure->status;
}

int ina_comm_pollfds(const struct ina_comm *comm, struct pollfd *fds)
{
	int count = ina_control_pollfds(&comm->control, fds);

	/* Without a request the completion queue is not watched: a message may come before its
	 * call. */
	if (comm->first || ina_comm_is_recovering(comm))
		count += comm->algorithm->pollfds(comm->algorithm_state, fds + count);
	return count;
}

/* Stalls and timeouts are found by whoever looks: the timer makes the caller look. */
enum ina_status ina_comm_open_pollset(struct ina_comm *comm, int *fd)
{
	struct pollfd fds[INA_COMM_FDS];
	enum ina_status status = INA_OK;

	if (comm->pollset.fd < 0) {
		status = ina_pollset_open(&comm->pollset, INA_STALL_MS / 2, comm->ranks == 1,
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
	bool moved = true;

	comm->algorithm->arm(comm->algorithm_state);
	while (!request->done && moved)
		moved = step(comm, 0, true);
	ina_pollset_watch(&comm->pollset, fds, ina_comm_pollfds(comm, fds));
}
