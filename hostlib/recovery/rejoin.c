/* SPDX-License-Identifier: Apache-2.0 */
/* Returns from the ring to the aggregator. */
#include "rejoin.h"

#include "common/deadline.h"
#include "hostlib/algorithms/trace.h"

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

void ina_rejoin_begin(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	rejoin->due = false;
	if (rejoin->looks)
		ina_join_look(&rejoin->join, context);
	else
		ina_join_again(&rejoin->join, context);
}

static void end_granted(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	struct ina_stats *stats = context->stats;

	ina_log(context->log, "aggregated %s, %u of %u packets granted, before all-reduce %llu",
	        rejoin->granted_ms == 0 ? "for the first time" : "again",
	        context->network->innet.granted_packets, context->network->window_packets,
	        (unsigned long long)context->turn->current.number);
	ina_rejoin_granted(rejoin);
	stats->rejoins++;
	stats->algorithm = INA_ALGORITHM_INA;
	ina_network_describe(context->network, stats);
}

static void log_refusal(const struct ina_recovery_context *context, const char *why)
{
	ina_log(context->log, "still over the ring: %s, before all-reduce %llu", why,
	        (unsigned long long)context->turn->current.number);
}

static void end_refused(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	const struct ina_join *join = &rejoin->join;
	const struct ina_tree *tree = &context->network->tree;

	if (join->end != INA_JOIN_NONE)
		ina_innet_abandon(&context->network->innet, false);
	log_refusal(context,
	            join->placed && !ina_tree_may_sum(tree) ? tree->why : "no JOIN was granted");
	ina_rejoin_refused(rejoin, context);
	if (!join->placed || !ina_rejoin_look_out(rejoin, context))
		ina_network_drop_aggregated(context->network);
}

/* Called when all ranks know the result of the lookout. Returns whether an attempt follows. */
static bool take_findings(struct ina_rejoin *rejoin, const struct ina_recovery_context *context)
{
	const struct ina_tree *tree = &context->network->tree;

	if (tree->verdict == INA_TREE_SUMS ||
	    (tree->verdict == INA_TREE_UNKNOWN && ++rejoin->vain % VAIN_LOOKOUTS == 0))
		return true;
	log_refusal(context, tree->why[0] ? tree->why : "no switch has reported an aggregator");
	if (!ina_rejoin_look_out(rejoin, context))
		ina_network_drop_aggregated(context->network);
	try_later(rejoin, context);
	return false;
}

enum ina_join_result ina_rejoin_step(struct ina_rejoin *rejoin,
                                     const struct ina_recovery_context *context,
                                     struct ina_failure *failure)
{
	enum ina_join_result result = ina_join_step(&rejoin->join, failure);

	if (result == INA_JOIN_LOOKED && take_findings(rejoin, context)) {
		rejoin->looks = false;
		ina_join_again(&rejoin->join, context);
		return ina_rejoin_step(rejoin, context, failure);
	}
	if (result == INA_JOIN_LOOKED)
		return INA_JOIN_REFUSED;
	if (result == INA_JOIN_GRANTED)
		end_granted(rejoin, context);
	else if (result == INA_JOIN_REFUSED)
		end_refused(rejoin, context);
	return result;
}
