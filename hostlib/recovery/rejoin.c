/* SPDX-License-Identifier: Apache-2.0 */
/* Returns from the ring to the aggregator. */
#include "rejoin.h"

#include "common/deadline.h"
#include "common/random.h"
#include "hostlib/algorithms/trace.h"
#include "hostlib/rdma/connection.h"
#include "hostlib/rdma/manager.h"

/*
 * Pauses between attempts, in milliseconds. The pause doubles each time that an attempt fails or
 * that the aggregator does not last.
 */
#define PAUSE_FIRST_MS   250
#define PAUSE_REFUSED_MS 1000 /* the first pause if no aggregator has ever summed for the job */
#define PAUSE_LAST_MS    30000

/*
 * If there are more jobs than contexts, the jobs take turns. A job keeps its context for at least
 * TURN_MS, and then leaves it to others for as long. A refused JOIN asks another job to give up its
 * context, which happens within an all-reduce, so the refused job tries again after LOOK_MS. An
 * attempt takes little longer than one or two connections.
 */
#define TURN_MS 1000
#define LOOK_MS 250

/*
 * A switch without an id can sum, but does not write into TRACEs. So after ten lookouts without an
 * answer the ranks attempt a JOIN. Ten lookouts take about three minutes at first, and later five.
 */
#define VAIN_LOOKOUTS 10u

static struct ina_failure none(void)
{
	return (struct ina_failure){INA_OK, ""};
}

void ina_rejoin_ask(const struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	const struct ina_options *options = &context->settings->options;
	bool waits = rejoin->looks && rejoin->has_sent &&
	             !ina_lookout_is_over(&context->network->lookout);

	/* If a TRACE does not arrive, the other ranks must learn this too, in the end. */
	context->network->hosts.ask_rejoin =
	        options->rank == 0 && options->algorithm == INA_ALGORITHM_AUTO &&
	        ina_now_ms() >= rejoin->next_ms + (waits ? options->join_timeout_ms : 0);
}

void ina_rejoin_note(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	if (!context->network->hosts.rejoin)
		return;
	if (!rejoin->looks || rejoin->has_sent) {
		rejoin->due = true;
		return;
	}
	rejoin->has_sent = true;
	ina_lookout_send(&context->network->lookout);
}

void ina_rejoin_heed(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	struct ina_innet *innet = &context->network->innet;

	rejoin->summed_ms = ina_now_ms();
	if (!innet->asked)
		return;
	innet->asked = false;
	innet->says_leave = context->settings->options.rank == 0 &&
	                    context->settings->options.algorithm == INA_ALGORITHM_AUTO &&
	                    !innet->is_leaving && rejoin->summed_ms - rejoin->granted_ms >= TURN_MS;
}

void ina_rejoin_granted(struct ina_rejoin *rejoin)
{
	rejoin->granted_ms = ina_now_ms();
}

static void try_later(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	int64_t now_ms = ina_now_ms();

	if (rejoin->pause_ms == 0 ||
	    (rejoin->granted_ms > 0 && now_ms - rejoin->granted_ms > 2 * PAUSE_LAST_MS))
		rejoin->pause_ms =
		        context->stats->fallbacks > 0 ? PAUSE_FIRST_MS : PAUSE_REFUSED_MS;
	else
		rejoin->pause_ms =
		        rejoin->pause_ms < PAUSE_LAST_MS / 2 ? 2 * rejoin->pause_ms : PAUSE_LAST_MS;
	rejoin->next_ms = now_ms + rejoin->pause_ms;
}

/* Did the JOIN come back unchanged, although a switch on its way could have summed it? */
static bool has_rivals(const struct ina_network *network)
{
	return network->tree.verdict == INA_TREE_SUMS && network->innet.received > 0 &&
	       network->innet.contributors == 1;
}

void ina_rejoin_refused(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	int spread_ms = (int)(context->network->transport.job_id % (LOOK_MS / 2));

	if (!has_rivals(context->network)) {
		try_later(rejoin, context);
		return;
	}
	/*
	 * Wait between LOOK_MS / 2 and LOOK_MS. If all jobs waited equally long, the same ones
	 * would always come too late.
	 */
	rejoin->next_ms = ina_now_ms() + LOOK_MS - spread_ms;
}

/* Has a TRACE failed, on any rank? */
static bool has_failed(const struct ina_tree *tree)
{
	for (int r = 0; r < tree->ranks; r++) {
		if (tree->paths[r].lost == INA_PATH_FAILED)
			return true;
	}
	return false;
}

bool ina_rejoin_look_out(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	struct ina_network *network = context->network;
	const struct ina_tree *tree = &network->tree;

	rejoin->looks =
	        tree->verdict != INA_TREE_SUMS && !has_failed(tree) && ina_trace_fits(network);
	/* If this rank's TRACE is late, keep waiting for it; the other ranks keep theirs. */
	rejoin->has_sent = rejoin->looks && tree->verdict == INA_TREE_LOST;
	if (rejoin->looks && !rejoin->has_sent)
		ina_lookout_expect(&network->lookout);
	return rejoin->looks;
}

/*
 * The job computed for a long time, and when it called again, the aggregator had forgotten it in
 * favour of another job. An aggregator that swallows packets takes longer to be detected.
 */
static bool was_silent(const struct ina_rejoin *rejoin, const struct ina_turn *turn)
{
	return rejoin->summed_ms > 0 && turn->began_ms - rejoin->summed_ms >= TURN_MS &&
	       ina_now_ms() - turn->began_ms < TURN_MS;
}

void ina_rejoin_lost(struct ina_rejoin *rejoin, const struct ina_recovery_context *context,
                     bool yields)
{
	if (yields || was_silent(rejoin, context->turn))
		rejoin->next_ms = ina_now_ms() + TURN_MS;
	else
		try_later(rejoin, context);
}

/*
 * This rank's vote in the agreement under way. A rank that has not succeeded votes 0, so all ranks
 * get 0. At INA_REJOIN_CHECK, a 0 is sent as a failure. If one JOIN was refused, all were, so the
 * other ranks need not wait for theirs to come back.
 */
static struct ina_vote own_vote(const struct ina_rejoin *rejoin,
                                const struct ina_recovery_context *context,
                                struct ina_failure *failed)
{
	*failed = none();
	if (rejoin->stage == INA_REJOIN_CHECK && rejoin->vote == 0)
		ina_fail(failed, INA_ERR_AGGREGATOR, "the aggregator refused this rank");
	return (struct ina_vote){.what = "",
	                         .doing = "begin to JOIN the aggregator again",
	                         .value = rejoin->vote,
	                         .call = context->turn->current,
	                         .failed = failed};
}

/* Enters a stage in which all ranks agree. */
static void vote(struct ina_rejoin *rejoin, const struct ina_recovery_context *context,
                 enum ina_rejoin_stage stage, uint32_t value)
{
	struct ina_failure failed;
	struct ina_vote brought;

	rejoin->stage = stage;
	rejoin->vote = value;
	brought = own_vote(rejoin, context, &failed);
	ina_agree_begin(context->control, &brought);
}

/* If it returns INA_AGREED, *least is the smallest vote of all ranks. */
static enum ina_agreement poll_votes(const struct ina_rejoin *rejoin,
                                     const struct ina_recovery_context *context, uint32_t *least,
                                     struct ina_failure *failure)
{
	struct ina_failure failed;
	const struct ina_vote brought = own_vote(rejoin, context, &failed);
	enum ina_agreement agreement = ina_agree_poll(context->control, &brought,
	                                              context->turn->deadline_ms, least, failure);

	if (agreement != INA_NOT_AGREED || failure->status != INA_ERR_AGGREGATOR)
		return agreement;
	*least = 0;
	return INA_AGREED;
}

/* Begins an attempt with fresh connections. */
static void begin_attempt(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	struct ina_network *network = context->network;
	uint64_t job_id = network->transport.job_id;

	/* If the old connection still exists, its JOIN was refused. */
	ina_network_drop_aggregated(network);
	ina_transport_set_rank_order(&network->transport, INA_PURPOSE_AGGREGATE);
	/*
	 * All ranks compute the same id, and an unknown peer that has seen no frame cannot guess
	 * it.
	 */
	network->transport.job_id = ina_random(&job_id);
	rejoin->looks = false;
	rejoin->placed = false;
	vote(rejoin, context, INA_REJOIN_GATHER, true);
}

void ina_rejoin_begin(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	rejoin->due = false;
	if (rejoin->looks)
		rejoin->stage = INA_REJOIN_LOOK;
	else
		begin_attempt(rejoin, context);
}

/* Ends the attempt, with or without success: the waiting all-reduce begins. */
static enum ina_rejoin_result end(struct ina_rejoin *rejoin,
                                  const struct ina_recovery_context *context, bool joined)
{
	struct ina_stats *stats = context->stats;
	const struct ina_tree *tree = &context->network->tree;
	const char *how = rejoin->granted_ms == 0 ? "for the first time" : "again";
	const char *why =
	        rejoin->placed && !ina_tree_may_sum(tree) ? tree->why : "no JOIN was granted";

	if (joined) {
		ina_log(context->log,
		        "aggregated %s, %u of %u packets granted, before all-reduce %llu", how,
		        context->network->innet.granted_packets, context->network->window_packets,
		        (unsigned long long)context->turn->current.number);
		ina_rejoin_granted(rejoin);
		stats->rejoins++;
		stats->algorithm = INA_ALGORITHM_INA;
		ina_network_describe(context->network, stats);
		return INA_REJOIN_GRANTED;
	}
	ina_log(context->log, "still over the ring: %s, before all-reduce %llu", why,
	        (unsigned long long)context->turn->current.number);
	ina_rejoin_refused(rejoin, context);
	if (!rejoin->placed || !ina_rejoin_look_out(rejoin, context))
		ina_network_drop_aggregated(context->network);
	return INA_REJOIN_REFUSED;
}

static void start_connecting(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	struct ina_failure ignored;

	rejoin->stage = INA_REJOIN_CONNECT;
	rejoin->deadline_ms = ina_now_ms() + context->settings->options.join_timeout_ms;
	if (ina_manager_begin(&context->network->transport, INA_PURPOSE_AGGREGATE, &ignored) !=
	    INA_OK)
		vote(rejoin, context, INA_REJOIN_COUNT, false);
}

/* Prepares the in-network algorithm for the fresh connection, and posts the receive for a TRACE. */
static bool make_ready(struct ina_network *network, bool traces)
{
	ina_network_renew_aggregated(network);
	if (traces && ina_trace_fits(network))
		ina_lookout_expect(&network->lookout);
	return !network->lookout.has_failed;
}

static void go_on_connecting(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	struct ina_transport *transport = &context->network->transport;
	struct ina_failure ignored;
	bool ready;

	if (ina_transport_step(transport, &ready, &ignored) != INA_OK ||
	    (!ready && ina_now_ms() >= rejoin->deadline_ms))
		vote(rejoin, context, INA_REJOIN_COUNT, false);
	else if (ready)
		vote(rejoin, context, INA_REJOIN_COUNT,
		     transport->path_mtu == context->stats->path_mtu &&
		             make_ready(context->network, !rejoin->placed));
}

static void send_join(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	static const struct ina_transfer nothing;
	struct ina_network *network = context->network;
	struct ina_failure ignored;

	rejoin->stage = INA_REJOIN_JOIN;
	rejoin->deadline_ms = ina_now_ms() + context->settings->options.join_timeout_ms;
	ina_innet_start(&network->innet, INA_WIRE_JOIN, -(int32_t)network->window_packets,
	                &nothing);
	if (ina_innet_advance(&network->innet, &ignored) != INA_OK)
		vote(rejoin, context, INA_REJOIN_CHECK, false);
}

/* Called when all ranks know the result of the lookout. */
static enum ina_rejoin_result take_findings(struct ina_rejoin *rejoin,
                                            const struct ina_recovery_context *context)
{
	const struct ina_tree *tree = &context->network->tree;

	if (tree->verdict == INA_TREE_SUMS ||
	    (tree->verdict == INA_TREE_UNKNOWN && ++rejoin->vain % VAIN_LOOKOUTS == 0)) {
		begin_attempt(rejoin, context);
		return INA_REJOIN_UNDER_WAY;
	}
	ina_log(context->log, "still over the ring: %s, before all-reduce %llu",
	        tree->why[0] ? tree->why : "no switch has reported an aggregator",
	        (unsigned long long)context->turn->current.number);
	if (!ina_rejoin_look_out(rejoin, context))
		ina_network_drop_aggregated(context->network);
	try_later(rejoin, context);
	return INA_REJOIN_REFUSED;
}

/*
 * Called when the positions of all ranks are known: sends the JOIN, after the ranks have connected
 * in an order in which the switches can sum.
 */
static enum ina_rejoin_result take_places(struct ina_rejoin *rejoin,
                                          const struct ina_recovery_context *context)
{
	struct ina_network *network = context->network;
	const struct ina_tree *tree = &network->tree;
	int rank = network->transport.rank;

	if (rejoin->looks)
		return take_findings(rejoin, context);
	rejoin->placed = true;
	if (!ina_tree_may_sum(tree))
		return end(rejoin, context, false);
	if (ina_tree_keeps_order(tree)) {
		send_join(rejoin, context);
		return INA_REJOIN_UNDER_WAY;
	}
	ina_network_drop_aggregated(network);
	ina_transport_set_neighbours(&network->transport, INA_PURPOSE_AGGREGATE,
	                             ina_tree_successor(tree, rank),
	                             ina_tree_predecessor(tree, rank));
	vote(rejoin, context, INA_REJOIN_GATHER, true);
	return INA_REJOIN_UNDER_WAY;
}

static enum ina_rejoin_result go_on_sharing(struct ina_rejoin *rejoin,
                                            const struct ina_recovery_context *context,
                                            struct ina_failure *failure)
{
	bool done;

	if (ina_trace_advance(context->network, &done, failure) != INA_OK)
		return INA_REJOIN_FAILED;
	if (done)
		return take_places(rejoin, context);
	if (ina_disturbed(context->control, &context->turn->current))
		return INA_REJOIN_DISTURBED;
	if (ina_now_ms() < context->turn->deadline_ms)
		return INA_REJOIN_UNDER_WAY;
	ina_fail(failure, INA_ERR_TIMEOUT, "did not learn within %d ms where the other ranks are",
	         context->settings->options.timeout_ms);
	return INA_REJOIN_FAILED;
}

static enum ina_rejoin_result share(struct ina_rejoin *rejoin,
                                    const struct ina_recovery_context *context,
                                    struct ina_failure *failure)
{
	rejoin->stage = INA_REJOIN_SHARE;
	return ina_trace_share(context->network, failure) == INA_OK
	               ? go_on_sharing(rejoin, context, failure)
	               : INA_REJOIN_FAILED;
}

static enum ina_rejoin_result await_trace(struct ina_rejoin *rejoin,
                                          const struct ina_recovery_context *context,
                                          struct ina_failure *failure)
{
	if (!ina_lookout_is_over(&context->network->lookout) && ina_now_ms() < rejoin->deadline_ms)
		return INA_REJOIN_UNDER_WAY;
	return share(rejoin, context, failure);
}

static enum ina_rejoin_result send_trace(struct ina_rejoin *rejoin,
                                         const struct ina_recovery_context *context,
                                         struct ina_failure *failure)
{
	rejoin->stage = INA_REJOIN_TRACE;
	rejoin->deadline_ms = ina_now_ms() + context->settings->options.join_timeout_ms;
	ina_lookout_send(&context->network->lookout);
	return await_trace(rejoin, context, failure);
}

static void await_join(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	struct ina_innet *innet = &context->network->innet;
	struct ina_failure ignored;
	bool fine = ina_innet_advance(innet, &ignored) == INA_OK;

	if (fine && !ina_network_join_is_over(context->network) &&
	    ina_now_ms() < rejoin->deadline_ms)
		return;
	fine = fine && ina_innet_is_joined(innet);
	ina_innet_stop(innet);
	vote(rejoin, context, INA_REJOIN_CHECK, fine ? innet->granted_packets : 0);
}

static enum ina_rejoin_result count_votes(struct ina_rejoin *rejoin,
                                          const struct ina_recovery_context *context,
                                          struct ina_failure *failure)
{
	uint32_t least = 0;

	switch (poll_votes(rejoin, context, &least, failure)) {
	case INA_PENDING:
		return INA_REJOIN_UNDER_WAY;
	case INA_NOT_AGREED:
		return INA_REJOIN_FAILED;
	case INA_DISTURBED:
		return INA_REJOIN_DISTURBED;
	case INA_AGREED:
		break;
	}
	if (rejoin->stage == INA_REJOIN_CHECK) {
		if (least == 0)
			ina_innet_abandon(&context->network->innet, false);
		else
			ina_network_take_grant(context->network, least);
	}
	if (rejoin->stage == INA_REJOIN_CHECK || least == 0)
		return end(rejoin, context, least != 0);
	if (rejoin->stage == INA_REJOIN_GATHER)
		start_connecting(rejoin, context);
	else if (rejoin->placed || !ina_trace_fits(context->network))
		send_join(rejoin, context);
	else
		return send_trace(rejoin, context, failure);
	return INA_REJOIN_UNDER_WAY;
}

static enum ina_rejoin_result step_stage(struct ina_rejoin *rejoin,
                                         const struct ina_recovery_context *context,
                                         struct ina_failure *failure)
{
	switch (rejoin->stage) {
	case INA_REJOIN_LOOK:
		return share(rejoin, context, failure);
	case INA_REJOIN_CONNECT:
		go_on_connecting(rejoin, context);
		break;
	case INA_REJOIN_TRACE:
		return await_trace(rejoin, context, failure);
	case INA_REJOIN_SHARE:
		return go_on_sharing(rejoin, context, failure);
	case INA_REJOIN_JOIN:
		await_join(rejoin, context);
		break;
	case INA_REJOIN_GATHER:
	case INA_REJOIN_COUNT:
	case INA_REJOIN_CHECK:
		return count_votes(rejoin, context, failure);
	}
	return INA_REJOIN_UNDER_WAY;
}

enum ina_rejoin_result ina_rejoin_step(struct ina_rejoin *rejoin,
                                       const struct ina_recovery_context *context,
                                       struct ina_failure *failure)
{
	enum ina_rejoin_result result;
	enum ina_rejoin_stage before;

	/*
	 * The next stage may be able to continue immediately, and no event would wake the caller
	 * for it.
	 */
	do {
		before = rejoin->stage;
		result = step_stage(rejoin, context, failure);
	} while (result == INA_REJOIN_UNDER_WAY && rejoin->stage != before);
	return result;
}
