/* SPDX-License-Identifier: Apache-2.0 */
/* All ranks agree on a fault. */
#include "fault_agreement.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/deadline.h"
#include "hostlib/control/agreement.h"
#include "hostlib/control/diagnosis.h"

/* How long rank 0 waits for reports of something fatal, and the others for its diagnosis. */
#define GATHER_MS    5000
#define DIAGNOSIS_MS 10000

/*
 * How long a rank that knows of another one's end waits for rank 0 to say so. If that is in the
 * library, it answers at once.
 */
#define ALONE_MS 300

/* Ranks other than 0 wait that much longer: rank 0 knows who is missing. */
#define MARGIN_MS 3000

void ina_fault_agreement_begin(struct ina_fault_agreement *agreement, struct ina_control *control)
{
	struct ina_control_frame frame = ina_control_frame(
	        control, control->rank == 0 ? INA_CONTROL_QUERY : INA_CONTROL_FAULT);

	agreement->fatal_ms = 0;
	agreement->alone_ms = 0;
	agreement->fault.gone = 0;
	for (int r = 0; r < control->ranks; r++)
		agreement->fault.gone |= (uint64_t)control->peers[r].gone << r;
	if (control->rank == 0) {
		ina_control_broadcast(control, &frame);
		return;
	}
	frame.fault = agreement->fault;
	ina_control_send(control, 0, &frame);
}

/* No sum came, or the aggregated connection failed: the ring can do without either. */
static bool is_recoverable(const struct ina_fault *fault)
{
	return fault->status == INA_OK || fault->status == INA_ERR_AGGREGATOR;
}

/* What has come so far. Returns how many ranks have not reported; *lost: of them, ended. */
static int collect(struct ina_fault_agreement *s, const struct ina_control *control, int *lost)
{
	int missing = 0;
	uint64_t gone = 0;

	*lost = 0;
	s->faults[0] = s->fault;
	s->has_fault[0] = 1;
	s->gone[0] = 0;
	/* What one rank has lost is lost, even if this one has yet to notice. */
	for (int r = 1; r < control->ranks; r++)
		gone |= control->peers[r].has_fault ? control->peers[r].fault.gone : 0;
	for (int r = 1; r < control->ranks; r++) {
		const struct ina_peer *peer = &control->peers[r];

		s->faults[r] = peer->fault;
		s->has_fault[r] = peer->has_fault;
		s->gone[r] = ina_control_is_absent(control, r) || (gone >> r & 1);
		missing += !peer->has_fault;
		*lost += s->gone[r] && !peer->has_fault;
	}
	return missing;
}

static bool is_fatal(const struct ina_fault_agreement *s, int ranks)
{
	if (!s->may_recover)
		return true;
	for (int r = 0; r < ranks; r++) {
		if (s->gone[r] || (s->has_fault[r] && !is_recoverable(&s->faults[r])))
			return true;
	}
	return ina_calls_differ(s->faults, s->has_fault, ranks);
}

static void make_plan(const struct ina_fault_agreement *s, int ranks, struct ina_plan *plan)
{
	*plan = (struct ina_plan){.from = s->faults[0].sums, .until = s->faults[0].sums};
	for (int r = 1; r < ranks; r++) {
		uint64_t sums = s->faults[r].sums;

		if (sums < plan->from)
			plan->from = sums;
		if (sums > plan->until) {
			plan->until = sums;
			plan->owner = (uint32_t)r;
		}
	}
}

static enum ina_fault_outcome recover(const struct ina_fault_agreement *s,
                                      struct ina_control *control, struct ina_plan *plan)
{
	struct ina_control_frame frame = ina_control_frame(control, INA_CONTROL_PLAN);

	make_plan(s, control->ranks, plan);
	for (int r = 1; r < control->ranks; r++)
		control->peers[r].has_fault = false;
	frame.plan = *plan;
	ina_control_broadcast(control, &frame);
	return INA_FAULT_RECOVERABLE;
}

static void name_late(const struct ina_fault_agreement *s, int ranks, struct ina_failure *failure)
{
	unsigned char late[INA_MAX_RANKS] = {0};
	char names[200];

	for (int r = 0; r < ranks; r++)
		late[r] = !s->has_fault[r];
	ina_list_ranks(names, sizeof(names), late, ranks);
	ina_fail(failure, INA_ERR_TIMEOUT,
	         "the aggregator dropped out, and %s did not come to go on without it", names);
}

static enum ina_fault_outcome end(const struct ina_fault_agreement *s, struct ina_control *control,
                                  bool fatal, struct ina_failure *failure)
{
	struct ina_control_frame frame = ina_control_frame(control, INA_CONTROL_DIAGNOSIS);
	unsigned char gone[INA_MAX_RANKS] = {0};
	int gone_count = 0;

	for (int r = 0; r < control->ranks; r++)
		gone_count += gone[r] = s->gone[r];
	if (fatal)
		ina_diagnose(s->faults, s->has_fault, s->gone, control->ranks, failure);
	else
		name_late(s, control->ranks, failure);
	/* The ring could go on, but for a rank that has gone since. */
	if (s->may_recover && failure->status == INA_ERR_AGGREGATOR && gone_count > 0)
		ina_fail_gone(failure, gone, control->ranks);
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
	int missing = collect(s, control, &lost);
	bool fatal = is_fatal(s, control->ranks);
	int64_t now_ms = ina_now_ms();

	if (fatal && s->fatal_ms == 0)
		s->fatal_ms = now_ms + GATHER_MS;
	/* One lost rank is enough to decide: the other reports are not waited for. */
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
		ina_fail(failure, s->fault.status, "%s (rank 0 did not answer the report of it)",
		         s->fault.text);
	else
		ina_fail(failure, INA_ERR_TIMEOUT,
		         "rank 0 asked for a report on a fault, and gave no diagnosis");
	return INA_FAULT_FATAL;
}

int ina_fault_agreement_tick(const struct ina_fault_agreement *agreement, int timeout_ms)
{
	return agreement->alone_ms != 0 && timeout_ms > ALONE_MS / 3 ? ALONE_MS / 3 : timeout_ms;
}

enum ina_fault_outcome ina_fault_agreement_poll(struct ina_fault_agreement *agreement,
                                                struct ina_control *control, struct ina_plan *plan,
                                                struct ina_failure *failure)
{
	struct ina_fault_agreement *s = agreement;
	enum ina_fault_outcome outcome;

	if (control->rank == 0)
		return decide(s, control, plan, failure);
	if (s->fatal_ms == 0 && (!s->may_recover || !is_recoverable(&s->fault)))
		s->fatal_ms = ina_now_ms() + DIAGNOSIS_MS;
	outcome = follow(s, control, s->fatal_ms ? s->fatal_ms : s->deadline_ms + MARGIN_MS, plan,
	                 failure);
	/* Now, since the process may end at once: for those who are to have the same error. */
	if (outcome == INA_FAULT_FATAL)
		ina_control_farewell(control, failure);
	return outcome;
}
