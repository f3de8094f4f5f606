/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the ranks to the aggregator, step by step. */
#include "join.h"

#include "common/deadline.h"
#include "common/random.h"
#include "hostlib/algorithms/trace.h"
#include "hostlib/rdma/connection.h"
#include "hostlib/rdma/manager.h"

static const struct ina_failure NONE = {INA_OK, ""};

static bool opens(const struct ina_join *join)
{
	return join->goal == INA_JOIN_OPEN;
}

static int64_t join_ms(const struct ina_join *join)
{
	return join->context->settings->options.join_timeout_ms;
}

/* At open each part of the way has its time; in a call, the deadline of the call holds. */
static void extend(struct ina_join *join)
{
	if (opens(join))
		join->end_ms += join_ms(join);
}

static void enter(struct ina_join *join, enum ina_join_stage stage, int64_t deadline_ms)
{
	join->stage = stage;
	join->deadline_ms = deadline_ms;
}

/* May an aggregator sum for this communicator? */
static bool asks(const struct ina_join *join)
{
	return !join->context->network->plain &&
	       join->context->settings->options.algorithm != INA_ALGORITHM_RING;
}

/* The action that a rank did not complete, for the text of an agreement. */
static const char *doing_of(const struct ina_join *join)
{
	if (!opens(join))
		return "begin to JOIN the aggregator again";
	switch (join->stage) {
	case INA_JOIN_FIRST:
		return "connect to its neighbours";
	case INA_JOIN_CHECK:
		return "JOIN the aggregator";
	case INA_JOIN_LEFT:
		return "leave";
	default:
		return "learn where the ranks are";
	}
}

static struct ina_vote own_vote(struct ina_join *join)
{
	bool is_first = join->stage == INA_JOIN_FIRST;

	return (struct ina_vote){.what = is_first ? "path MTU" : "",
	                         .doing = doing_of(join),
	                         .must_equal = is_first,
	                         .value = join->vote,
	                         .call = join->context->turn->current,
	                         .failed = &join->failed};
}

/* Enters a stage in which all ranks agree. */
static void vote(struct ina_join *join, enum ina_join_stage stage, uint32_t value,
                 const struct ina_failure *failed)
{
	struct ina_vote brought;

	enter(join, stage, join->end_ms);
	join->votes = true;
	join->vote = value;
	join->failed = *failed;
	brought = own_vote(join);
	ina_agree_begin(join->context->control, &brought);
}

/* Votes on success until now. In a call, a rank that has failed votes 0, so all ranks get 0. */
static void report(struct ina_join *join, enum ina_join_stage stage, const struct ina_failure *own)
{
	if (opens(join))
		vote(join, stage, 0, own);
	else
		vote(join, stage, own->status == INA_OK, &NONE);
}

/* If it returns INA_AGREED, *least is the smallest vote of all ranks. */
static enum ina_agreement poll_votes(struct ina_join *join, uint32_t *least,
                                     struct ina_failure *failure)
{
	const struct ina_vote brought = own_vote(join);
	enum ina_agreement agreement =
	        ina_agree_poll(join->context->control, &brought, join->end_ms, least, failure);

	/* If one JOIN was refused, all were; the ring can be used. */
	if (agreement != INA_NOT_AGREED || join->stage != INA_JOIN_CHECK ||
	    failure->status != INA_ERR_AGGREGATOR)
		return agreement;
	*least = 0;
	return INA_AGREED;
}

/* Drops the aggregated connections, to make fresh ones with these neighbours. */
static void connect_with(struct ina_join *join, int next, int previous)
{
	struct ina_network *network = join->context->network;

	ina_network_drop_aggregated(network);
	ina_transport_set_neighbours(&network->transport, INA_PURPOSE_AGGREGATE, next, previous);
	report(join, INA_JOIN_GATHER, &NONE);
}

static void connect_in_order(struct ina_join *join)
{
	const struct ina_transport *transport = &join->context->network->transport;

	connect_with(join, ina_successor(transport->rank, transport->ranks),
	             ina_predecessor(transport->rank, transport->ranks));
}

/*
 * All ranks compute the same id, and an unknown peer that has seen no frame cannot guess it. A
 * switch may not have forgotten the old job yet.
 */
static void renew_job(struct ina_join *join)
{
	struct ina_transport *transport = &join->context->network->transport;
	uint64_t job_id = transport->job_id;

	transport->job_id = ina_random(&job_id);
	connect_in_order(join);
}

void ina_join_open(struct ina_join *join, const struct ina_recovery_context *context,
                   const struct ina_failure *failed, int64_t end_ms)
{
	struct ina_network *network = context->network;

	*join = (struct ina_join){.context = context,
	                          .goal = INA_JOIN_OPEN,
	                          .keeps_tree = context->settings->keeps_tree,
	                          .end_ms = end_ms};
	if (failed->status == INA_OK && asks(join) && ina_trace_fits(network))
		ina_lookout_expect(&network->lookout);
	vote(join, INA_JOIN_FIRST, network->transport.path_mtu, failed);
}

void ina_join_again(struct ina_join *join, const struct ina_recovery_context *context)
{
	*join = (struct ina_join){
	        .context = context, .goal = INA_JOIN_AGAIN, .end_ms = context->turn->deadline_ms};
	renew_job(join);
}

void ina_join_look(struct ina_join *join, const struct ina_recovery_context *context)
{
	/* The ranks do not wait for TRACEs any more. */
	*join = (struct ina_join){.context = context,
	                          .goal = INA_JOIN_LOOK,
	                          .stage = INA_JOIN_TRACE,
	                          .end_ms = context->turn->deadline_ms};
}

static void start_connecting(struct ina_join *join)
{
	struct ina_failure own;

	enter(join, INA_JOIN_CONNECT, opens(join) ? join->end_ms : ina_now_ms() + join_ms(join));
	if (ina_manager_begin(&join->context->network->transport, INA_PURPOSE_AGGREGATE, &own) !=
	    INA_OK)
		report(join, INA_JOIN_COUNT, &own);
}

static void go_on_connecting(struct ina_join *join)
{
	const struct ina_recovery_context *context = join->context;
	struct ina_network *network = context->network;
	struct ina_failure own = NONE;
	bool ready;

	if (ina_transport_step_until(&network->transport, context->control, join->deadline_ms,
	                             &ready, &own) == INA_OK) {
		if (!ready)
			return;
		if (network->transport.path_mtu != context->stats->path_mtu)
			ina_fail(&own, INA_ERR_MISMATCH, "the path MTU has changed");
		ina_network_renew_aggregated(network);
		if (!join->placed && ina_trace_fits(network))
			ina_lookout_expect(&network->lookout);
	}
	report(join, INA_JOIN_COUNT, &own);
}

/* Called when all ranks know the positions of all. */
static void send_join(struct ina_join *join)
{
	static const struct ina_transfer nothing;
	struct ina_network *network = join->context->network;

	extend(join);
	if (!asks(join) || !ina_tree_may_sum(&network->tree)) {
		vote(join, INA_JOIN_CHECK, 0, &NONE);
		return;
	}
	enter(join, INA_JOIN_WAIT, ina_now_ms() + join_ms(join));
	ina_innet_start(&network->innet, INA_WIRE_JOIN, -(int32_t)network->window_packets,
	                &nothing);
}

static void end_join(struct ina_join *join, bool fine)
{
	struct ina_network *network = join->context->network;
	uint32_t packets = network->innet.granted_packets;
	unsigned int further =
	        ina_spread_further(&network->spread, &network->tree, network->innet.before);
	struct ina_failure own;

	fine = fine && ina_innet_is_joined(&network->innet);
	ina_innet_stop(&network->innet);
	if (!fine) {
		join->end = ina_agree_has_failed(join->context->control) ? INA_JOIN_STOPPED
		                                                         : INA_JOIN_FAILED;
		if (!ina_is_stopped(join->context->control->stop, &own))
			ina_fail(&own, INA_ERR_AGGREGATOR, "the aggregator refused this rank");
		vote(join, INA_JOIN_CHECK, 0, &own);
		return;
	}
	join->end = INA_JOIN_JOINED;
	vote(join, INA_JOIN_CHECK, opens(join) ? ina_spread_pack(packets, further) : packets,
	     &NONE);
}

static void await_join(struct ina_join *join)
{
	struct ina_network *network = join->context->network;
	struct ina_failure ignored;
	bool fine = ina_innet_advance(&network->innet, &ignored) == INA_OK;

	if (!fine || ina_network_join_is_over(network) || ina_now_ms() >= join->deadline_ms)
		end_join(join, fine);
}

/*
 * The JOINs were granted, but other jobs have come to the tree at the same time. The job LEAVEs,
 * and connects on the tree whose number is larger by `further`.
 */
static void make_way(struct ina_join *join, unsigned int further)
{
	static const struct ina_transfer nothing;
	struct ina_network *network = join->context->network;

	/* Otherwise jobs that move at the same time would look and move again. */
	join->keeps_tree = true;
	join->placed = false;
	network->spread = (struct ina_spread){0};
	network->transport.tree = (network->transport.tree + further) % INA_WIRE_TREES;
	extend(join);
	enter(join, INA_JOIN_LEAVE, ina_now_ms() + join_ms(join));
	ina_innet_start(&network->innet, INA_WIRE_LEAVE, 0, &nothing);
}

static void await_leave(struct ina_join *join)
{
	struct ina_innet *innet = &join->context->network->innet;
	struct ina_failure ignored;

	if (ina_innet_advance(innet, &ignored) == INA_OK && !ina_innet_is_exchanged(innet) &&
	    ina_now_ms() < join->deadline_ms)
		return;
	ina_innet_stop(innet);
	report(join, INA_JOIN_LEFT, &NONE);
}

/* Called when this rank knows the positions of all. */
static enum ina_join_result take_places(struct ina_join *join)
{
	struct ina_network *network = join->context->network;
	const struct ina_tree *tree = &network->tree;
	int rank = network->transport.rank;
	unsigned int next;

	if (join->goal == INA_JOIN_LOOK)
		return INA_JOIN_LOOKED;
	if (opens(join) && !join->keeps_tree &&
	    ina_spread_look(&network->spread, network->transport.tree, tree, &next)) {
		network->transport.tree = next;
		connect_in_order(join);
		return INA_JOIN_UNDER_WAY;
	}
	join->placed = true;
	if (!opens(join) && !ina_tree_may_sum(tree))
		return INA_JOIN_REFUSED;
	if (!ina_tree_keeps_order(tree))
		connect_with(join, ina_tree_successor(tree, rank),
		             ina_tree_predecessor(tree, rank));
	else if (opens(join))
		report(join, INA_JOIN_PLACED, &NONE);
	else
		send_join(join);
	return INA_JOIN_UNDER_WAY;
}

/* At open, the failure of this rank goes into an agreement. */
static enum ina_join_result cannot_share(struct ina_join *join, const struct ina_failure *own)
{
	if (!opens(join))
		return INA_JOIN_ENDED;
	report(join, INA_JOIN_PLACED, own);
	return INA_JOIN_UNDER_WAY;
}

static enum ina_join_result go_on_sharing(struct ina_join *join, struct ina_failure *failure)
{
	const struct ina_recovery_context *context = join->context;
	bool done;

	if (ina_trace_advance(context->network, &done, failure) != INA_OK)
		return cannot_share(join, failure);
	if (done)
		return take_places(join);
	if (opens(join) && ina_open_failed_elsewhere(context->control, failure))
		return cannot_share(join, failure);
	if (!opens(join) && ina_disturbed(context->control, &context->turn->current))
		return INA_JOIN_DISTURBED;
	if (ina_now_ms() < join->end_ms)
		return INA_JOIN_UNDER_WAY;
	ina_fail(failure, INA_ERR_TIMEOUT, "did not learn in time where the other ranks are");
	if (!opens(join))
		ina_fail(failure, INA_ERR_TIMEOUT,
		         "did not learn within %d ms where the other ranks are",
		         context->settings->options.timeout_ms);
	return cannot_share(join, failure);
}

static enum ina_join_result share(struct ina_join *join, struct ina_failure *failure)
{
	enter(join, INA_JOIN_SHARE, join->end_ms);
	return ina_trace_share(join->context->network, failure) == INA_OK
	               ? go_on_sharing(join, failure)
	               : cannot_share(join, failure);
}

/* Called when all ranks are connected in the order of ranks. */
static void find_places(struct ina_join *join)
{
	struct ina_network *network = join->context->network;

	/* Further trees that the ranks look at have no further time. */
	if (network->spread.looks == 0)
		extend(join);
	if (asks(join) && ina_trace_fits(network)) {
		enter(join, INA_JOIN_TRACE, ina_now_ms() + join_ms(join));
		ina_lookout_send(&network->lookout);
	} else if (opens(join)) {
		report(join, INA_JOIN_PLACED, &NONE);
	} else {
		send_join(join);
	}
}

/* Called when all ranks know the smallest grant; 0: a JOIN was not granted. */
static enum ina_join_result take_grant(struct ina_join *join, uint32_t least)
{
	unsigned int further = 0;

	if (least == 0)
		return INA_JOIN_REFUSED;
	if (opens(join))
		least = ina_spread_unpack(least, &further);
	if (further != 0 && !join->keeps_tree) {
		make_way(join, further);
		return INA_JOIN_UNDER_WAY;
	}
	ina_network_take_grant(join->context->network, least);
	return INA_JOIN_GRANTED;
}

static enum ina_join_result count_votes(struct ina_join *join, struct ina_failure *failure)
{
	uint32_t least = 0;

	switch (poll_votes(join, &least, failure)) {
	case INA_PENDING:
		return INA_JOIN_UNDER_WAY;
	case INA_NOT_AGREED:
		return INA_JOIN_ENDED;
	case INA_DISTURBED:
		return INA_JOIN_DISTURBED;
	case INA_AGREED:
		break;
	}
	join->votes = false;
	if (join->stage == INA_JOIN_CHECK)
		return take_grant(join, least);
	if (!opens(join) && least == 0)
		return INA_JOIN_REFUSED;
	if (join->stage == INA_JOIN_GATHER)
		start_connecting(join);
	else if (join->stage == INA_JOIN_LEFT)
		renew_job(join);
	else if (join->placed || join->stage == INA_JOIN_PLACED)
		send_join(join);
	else
		find_places(join);
	return INA_JOIN_UNDER_WAY;
}

static enum ina_join_result step(struct ina_join *join, struct ina_failure *failure)
{
	if (join->votes)
		return count_votes(join, failure);
	if (join->stage == INA_JOIN_SHARE)
		return go_on_sharing(join, failure);
	if (join->stage == INA_JOIN_TRACE) {
		if (ina_lookout_is_over(&join->context->network->lookout) ||
		    ina_now_ms() >= join->deadline_ms)
			return share(join, failure);
	} else if (join->stage == INA_JOIN_CONNECT) {
		go_on_connecting(join);
	} else if (join->stage == INA_JOIN_LEAVE) {
		await_leave(join);
	} else {
		await_join(join);
	}
	return INA_JOIN_UNDER_WAY;
}

enum ina_join_result ina_join_step(struct ina_join *join, struct ina_failure *failure)
{
	enum ina_join_result result;
	enum ina_join_stage before;

	/*
	 * The next stage may be able to continue immediately, and no event would wake the caller
	 * for it.
	 */
	do {
		before = join->stage;
		result = step(join, failure);
	} while (result == INA_JOIN_UNDER_WAY && join->stage != before);
	return result;
}

void ina_join_lose(struct ina_join *join, const struct ina_failure *own)
{
	if (join->stage == INA_JOIN_WAIT)
		end_join(join, false);
	else if (join->stage == INA_JOIN_CONNECT)
		report(join, INA_JOIN_COUNT, own);
	else if (join->stage == INA_JOIN_SHARE)
		report(join, INA_JOIN_PLACED, own);
	else
		join->deadline_ms = 0; /* wait no longer for the TRACE or LEAVE */
}
