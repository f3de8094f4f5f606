/* SPDX-License-Identifier: Apache-2.0 */
/* Recovers from faults, in phases. */
#include "recovery.h"

#include <stdio.h>

#include "common/deadline.h"
#include "fallback.h"
#include "hostlib/control/telling.h"

int64_t ina_recovery_patience_ms(const struct ina_options *options)
{
	int64_t join_ms = options->join_timeout_ms;
	int64_t losses_ms = ina_losses_ms(options);

	return 3 * (join_ms > losses_ms ? join_ms : losses_ms);
}

/*
 * Notes the call that this rank is in. Between two calls, turn->current is the one that it finished
 * last.
 */
static void note_calls(struct ina_fault *fault, const struct ina_turn *turn)
{
	fault->current = turn->current;
	fault->previous = turn->previous;
	if (turn->under_way || turn->current.kind == INA_CALL_CLOSE)
		return;
	fault->current = (struct ina_call){.number = turn->current.number};
	fault->previous = turn->current;
}

void ina_recovery_begin(struct ina_recovery *recovery, const struct ina_failure *failure,
                        uint32_t message, bool by_aggregator)
{
	const struct ina_recovery_context *context = &recovery->context;
	const struct ina_turn *turn = context->turn;
	const struct ina_options *options = &context->settings->options;
	struct ina_fault_agreement *agreement = &recovery->agreement;
	struct ina_fault *fault = &agreement->fault;

	if (recovery->phase == INA_AGREEING)
		return;
	*fault = (struct ina_fault){
	        .sums = context->network ? context->network->innet.received : 0,
	};
	note_calls(fault, turn);
	if (failure) {
		fault->status = failure->status;
		fault->message = message;
		snprintf(fault->text, sizeof(fault->text), "%.*s", INA_CONTROL_TEXT - 1,
		         failure->text);
	}
	agreement->yields = by_aggregator && ina_innet_leaves(&context->network->innet);
	agreement->may_recover = recovery->phase == INA_STEADY && by_aggregator &&
	                         options->algorithm == INA_ALGORITHM_AUTO;
	/*
	 * When the job gives up its context, the other ranks enter this recovery on their own as
	 * soon as they have all sums. A rank that is asked earlier would stop waiting for sums. But
	 * if the aggregator dies now, the others never get their sums, so ask them later.
	 */
	agreement->ask_ms = agreement->yields && !ina_innet_is_busy(&context->network->innet)
	                            ? ina_now_ms() + ina_recovery_patience_ms(options)
	                            : 0;
	agreement->deadline_ms =
	        turn->under_way ? turn->deadline_ms : ina_now_ms() + options->timeout_ms;
	recovery->phase = INA_AGREEING;
	recovery->is_new = true;
	if (agreement->may_recover)
		ina_fallback_leave(context, agreement->yields);
	ina_fault_agreement_begin(agreement, context->control);
}

void ina_recovery_rejoin(struct ina_recovery *recovery)
{
	recovery->phase = INA_REJOINING;
	recovery->is_new = true;
	ina_rejoin_begin(&recovery->rejoin, &recovery->context);
}

/*
 * Handles another fault during a repair or rejoin. The aggregator is not in use then, so the
 * message is the ring's.
 */
static enum ina_recovery_result fault_again(struct ina_recovery *recovery,
                                            const struct ina_failure *failure)
{
	ina_recovery_begin(recovery, failure,
	                   (uint32_t)recovery->context.network->hosts.ring.in.index, false);
	return INA_RECOVERY_UNDER_WAY;
}

static enum ina_recovery_result end_repair(struct ina_recovery *recovery)
{
	struct ina_stats *stats = recovery->context.stats;

	recovery->phase = INA_STEADY;
	if (recovery->plan.yields)
		stats->yields++;
	else
		stats->fallbacks++;
	stats->algorithm = INA_ALGORITHM_RING;
	ina_network_describe(recovery->context.network, stats);
	ina_rejoin_lost(&recovery->rejoin, &recovery->context, recovery->plan.yields != 0);
	return INA_RECOVERY_RING;
}

static enum ina_recovery_result step_agreeing(struct ina_recovery *recovery,
                                              struct ina_failure *failure)
{
	const struct ina_recovery_context *context = &recovery->context;
	const struct ina_fault *fault = &recovery->agreement.fault;
	bool done;

	switch (ina_fault_agreement_poll(&recovery->agreement, context->control, &recovery->plan,
	                                 failure)) {
	case INA_FAULT_PENDING:
		return INA_RECOVERY_UNDER_WAY;
	case INA_FAULT_FATAL:
		recovery->phase = INA_STEADY;
		return INA_RECOVERY_FATAL;
	case INA_FAULT_RECOVERABLE:
		break;
	}
	ina_warn(context->log, "all-reduce %llu continues over the ring: %s",
	         (unsigned long long)context->turn->current.number,
	         recovery->plan.yields     ? "the job yields its aggregator context to another job"
	         : fault->status == INA_OK ? "the aggregator dropped out at other ranks"
	                                   : fault->text);
	recovery->phase = INA_REPAIRING; /* a fault after this point is a new one */
	if (ina_fallback_begin(context, &recovery->plan, &done, failure) != INA_OK)
		return fault_again(recovery, failure);
	return done ? end_repair(recovery) : INA_RECOVERY_UNDER_WAY;
}

static enum ina_recovery_result step_repairing(struct ina_recovery *recovery, bool moved,
                                               struct ina_failure *failure)
{
	const struct ina_recovery_context *context = &recovery->context;
	bool done = false;

	if (moved && ina_fallback_advance(context, &recovery->plan, &done, failure) != INA_OK)
		return fault_again(recovery, failure);
	if (done)
		return end_repair(recovery);
	if (ina_disturbed(context->control, &context->turn->current))
		return fault_again(recovery, NULL);
	if (ina_now_ms() < recovery->agreement.deadline_ms)
		return INA_RECOVERY_UNDER_WAY;
	ina_fail(failure, INA_ERR_TIMEOUT, "could not continue without the aggregator in %d ms",
	         context->settings->options.timeout_ms);
	return fault_again(recovery, failure);
}

static enum ina_recovery_result step_rejoining(struct ina_recovery *recovery,
                                               struct ina_failure *failure)
{
	switch (ina_rejoin_step(&recovery->rejoin, &recovery->context, failure)) {
	case INA_JOIN_UNDER_WAY:
	case INA_JOIN_LOOKED:
		break;
	case INA_JOIN_DISTURBED:
		return fault_again(recovery, NULL);
	case INA_JOIN_ENDED:
		return fault_again(recovery, failure);
	case INA_JOIN_GRANTED:
		recovery->phase = INA_STEADY;
		return INA_RECOVERY_REJOINED;
	case INA_JOIN_REFUSED:
		recovery->phase = INA_STEADY;
		return INA_RECOVERY_REFUSED;
	}
	return INA_RECOVERY_UNDER_WAY;
}

/* Takes completions and frames of the control channel. */
static enum ina_status take_in(const struct ina_recovery *recovery, int timeout_ms, bool *moved,
                               struct ina_failure *failure)
{
	const struct ina_recovery_context *context = &recovery->context;
	int count = 0;
	enum ina_status status = INA_OK;

	if (context->network && timeout_ms > 0)
		status = ina_completions_wait(&context->network->completions, timeout_ms, &count,
		                              failure);
	else if (context->network)
		status = ina_completions_poll(&context->network->completions, &count, failure);
	/* Without a network, or after it has failed, wait here. */
	ina_control_pump(context->control,
	                 context->network && status != INA_ERR_DEVICE ? 0 : timeout_ms);
	*moved = count > 0;
	return status;
}

enum ina_recovery_result ina_recovery_step(struct ina_recovery *recovery, int timeout_ms,
                                           bool *moved, struct ina_failure *failure)
{
	enum ina_status status;

	if (recovery->is_new)
		timeout_ms = 0;
	recovery->is_new = false;
	if (recovery->phase == INA_AGREEING)
		timeout_ms = ina_fault_agreement_tick(&recovery->agreement, timeout_ms);
	status = take_in(recovery, timeout_ms, moved, failure);
	switch (recovery->phase) {
	case INA_STEADY:
		break;
	case INA_AGREEING: /* further errors of this rank belong to the same fault */
		return step_agreeing(recovery, failure);
	case INA_REPAIRING:
		return status == INA_OK ? step_repairing(recovery, *moved, failure)
		                        : fault_again(recovery, failure);
	case INA_REJOINING:
		/* INA_ERR_AGGREGATOR: this attempt has failed, and this rank's vote will say so. */
		return status == INA_OK || status == INA_ERR_AGGREGATOR
		               ? step_rejoining(recovery, failure)
		               : fault_again(recovery, failure);
	}
	return INA_RECOVERY_UNDER_WAY;
}
