/* SPDX-License-Identifier: Apache-2.0 */
/* All ranks agree on a fault. */
#include "fault_agreement.h"

#include <stdio.h>

#include "common/deadline.h"
#include "hostlib/control/agreement.h"
#include "hostlib/control/diagnosis.h"
#include "hostlib/control/telling.h"

/*
 * How long rank 0 waits for reports of a fatal fault, and how long the others wait for its
 * diagnosis.
 */
#define GATHER_MS    5000
#define DIAGNOSIS_MS 10000

/*
 * How long a rank that knows of another rank's death waits for rank 0 to report it. If rank 0 is in
 * a call, it answers immediately.
 */
#define ALONE_MS 300

/*
 * The other ranks wait this much longer than rank 0, because rank 0 knows which ranks are missing.
 */
#define MARGIN_MS 3000

/* The longest wait between two polls, so that reports are passed on. */
#define TICK_MS 200

static void ask_in_time(const struct ina_fault_agreement *agreement, struct ina_control *control)
{
	if (ina_now_ms() >= agreement->ask_ms)
		ina_control_ask(control);
}

void ina_fault_agreement_begin(struct ina_fault_agreement *agreement, struct ina_control *control)
{
	struct ina_faults own = ina_faults_of(control->round, control->rank, &agreement->fault);

	agreement->fatal_ms = 0;
	agreement->alone_ms = 0;
	ina_control_take_faults(control, &own);
	ask_in_time(agreement, control);
	ina_control_tell(control);
}

static struct ina_ranks absent(const struct ina_control *control)
{
	struct ina_ranks set = control->gone;

	ina_ranks_unite(&set, &control->left);
	return set;
}

/*
 * Returns the number of ranks that have not reported. Sets *lost to the number of these that have
 * ended.
 */
static int count_missing(const struct ina_control *control, int *lost)
{
	struct ina_ranks missing = ina_ranks_others(&control->faults.reported, control->ranks);

	*lost = 0;
	for (int r = 0; r < control->ranks; r++)
		*lost += ina_ranks_have(&missing, r) && ina_control_is_absent(control, r);
	return ina_ranks_count(&missing, control->ranks);
}

static bool is_fatal(const struct ina_fault_agreement *s, const struct ina_control *control)
{
	struct ina_ranks gone = absent(control);

	return !s->may_recover || ina_ranks_count(&gone, control->ranks) > 0 ||
	       !ina_status_is_recoverable(control->faults.status) ||
	       ina_calls_differ(&control->faults);
}

static enum ina_fault_outcome recover(const struct ina_fault_agreement *s,
                                      struct ina_control *control, struct ina_plan *plan)
{
	struct ina_control_frame frame = ina_control_frame(control, INA_CONTROL_PLAN);
	const struct ina_faults *faults = &control->faults;

	*plan = (struct ina_plan){.from = faults->least_sums,
	                          .until = faults->most_sums,
	                          .owner = faults->owner,
	                          .round = control->round,
	                          .yields = s->yields};
	frame.plan = *plan;
	ina_control_broadcast(control, &frame);
	ina_control_next_round(control);
	return INA_FAULT_RECOVERABLE;
}

static void name_late(const struct ina_control *control, struct ina_failure *failure)
{
	struct ina_ranks late = ina_ranks_others(&control->faults.reported, control->ranks);
	char names[200];

	ina_ranks_list(names, sizeof(names), &late, control->ranks);
	ina_fail(failure, INA_ERR_TIMEOUT,
	         "the aggregator dropped out, and %s did not agree in time to continue without it",
	         names);
}

static enum ina_fault_outcome end(const struct ina_fault_agreement *s, struct ina_control *control,
                                  bool fatal, struct ina_failure *failure)
{
	struct ina_control_frame frame = ina_control_frame(control, INA_CONTROL_DIAGNOSIS);
	struct ina_ranks gone = absent(control);

	/* If no rank was lost without a farewell, the error of a farewell is the diagnosis. */
	if (fatal && ina_ranks_count(&control->gone, control->ranks) == 0 &&
	    control->heard.status != INA_OK)
		*failure = control->heard;
	else if (fatal)
		ina_diagnose(&control->faults, &gone, control->ranks, failure);
	else
		name_late(control, failure);
	/* The ring could have taken over if no rank had ended in the meantime. */
	if (s->may_recover && failure->status == INA_ERR_AGGREGATOR &&
	    ina_ranks_count(&gone, control->ranks) > 0)
		ina_fail_gone(failure, &gone, control->ranks);
	frame.decision.status = failure->status;
	snprintf(frame.decision.text, INA_CONTROL_TEXT, "%.*s", INA_CONTROL_TEXT - 1,
	         failure->text);
	ina_control_broadcast(control, &frame);
	return INA_FAULT_FATAL;
}

static enum ina_fault_outcome decide(struct ina_fault_agreement *s, struct ina_control *control,
                                     struct ina_plan *plan, struct ina_failure *failure)
{
	int lost;
	int missing = count_missing(control, &lost);
	bool fatal = is_fatal(s, control);
	int64_t now_ms = ina_now_ms();

	if (fatal && s->fatal_ms == 0)
		s->fatal_ms = now_ms + GATHER_MS;
	/* One lost rank is enough for a decision, so do not wait for the other reports. */
	if (missing > 0 && lost == 0 && now_ms < (fatal ? s->fatal_ms : s->deadline_ms))
		return INA_FAULT_PENDING;
	return missing == 0 && !fatal ? recover(s, control, plan) : end(s, control, fatal, failure);
}

static enum ina_fault_outcome follow(struct ina_fault_agreement *s, struct ina_control *control,
                                     int64_t deadline_ms, struct ina_plan *plan,
                                     struct ina_failure *failure)
{
	int64_t now_ms = ina_now_ms();
	struct ina_failure lost;

	if (control->has_diagnosis && control->diagnosis.status != INA_OK) {
		ina_fail(failure, control->diagnosis.status, "%s", control->diagnosis.text);
		return INA_FAULT_FATAL;
	}
	if (control->has_plan) {
		control->has_plan = false;
		*plan = control->plan;
		return INA_FAULT_RECOVERABLE;
	}
	if (ina_control_lost(control, &lost)) {
		if (s->alone_ms == 0)
			s->alone_ms = now_ms + ALONE_MS;
		if (ina_control_is_absent(control, 0) || now_ms >= s->alone_ms) {
			*failure = lost;
			return INA_FAULT_FATAL;
		}
	}
	if (now_ms < deadline_ms)
		return INA_FAULT_PENDING;
	if (s->fault.status != INA_OK)
		ina_fail(failure, s->fault.status, "%s (rank 0 did not answer this report)",
		         s->fault.text);
	else
		ina_fail(failure, INA_ERR_TIMEOUT,
		         "rank 0 asked for reports on a fault, and sent no diagnosis");
	return INA_FAULT_FATAL;
}

int ina_fault_agreement_tick(const struct ina_fault_agreement *agreement, int timeout_ms)
{
	int tick_ms = agreement->alone_ms != 0 ? ALONE_MS / 3 : TICK_MS;

	return timeout_ms > tick_ms ? tick_ms : timeout_ms;
}

/* On a rank other than 0: takes rank 0's answer. */
static enum ina_fault_outcome hear(struct ina_fault_agreement *s, struct ina_control *control,
                                   struct ina_plan *plan, struct ina_failure *failure)
{
	enum ina_fault_outcome outcome;

	if (s->fatal_ms == 0 && (!s->may_recover || !ina_status_is_recoverable(s->fault.status)))
		s->fatal_ms = ina_now_ms() + DIAGNOSIS_MS;
	outcome = follow(s, control, s->fatal_ms ? s->fatal_ms : s->deadline_ms + MARGIN_MS, plan,
	                 failure);
	/*
	 * Say farewell now, because the process may end immediately: the neighbours must get the
	 * same error.
	 */
	if (outcome == INA_FAULT_FATAL)
		ina_control_farewell(control, failure);
	return outcome;
}

enum ina_fault_outcome ina_fault_agreement_poll(struct ina_fault_agreement *agreement,
                                                struct ina_control *control, struct ina_plan *plan,
                                                struct ina_failure *failure)
{
	enum ina_fault_outcome outcome = control->rank == 0
	                                         ? decide(agreement, control, plan, failure)
	                                         : hear(agreement, control, plan, failure);

	if (outcome == INA_FAULT_PENDING)
		ask_in_time(agreement, control);
	return outcome;
}
