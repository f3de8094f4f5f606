/* SPDX-License-Identifier: Apache-2.0 */
/* Agreements: rank 0 decides from the votes of all ranks. */
#include "agreement.h"

#include <stdio.h>

#include "common/deadline.h"

#define TICK_MS 200

/* Ranks other than 0 wait that much longer for an agreement: rank 0 knows who is missing. */
#define AGREE_MARGIN_MS 3000

static void set_text(char *text, const char *from)
{
	snprintf(text, INA_CONTROL_TEXT, "%.*s", INA_CONTROL_TEXT - 1, from);
}

/* Can the two calls of two ranks never meet, however long one waits? */
static bool calls_conflict(const struct ina_call *a, const struct ina_call *b)
{
	if (a->kind == INA_CALL_ALLREDUCE && b->kind == INA_CALL_ALLREDUCE)
		return a->number == b->number &&
		       (a->count != b->count || a->type != b->type || a->op != b->op);
	if (a->kind == INA_CALL_ALLREDUCE && b->kind == INA_CALL_CLOSE)
		return a->number > b->number;
	if (a->kind == INA_CALL_CLOSE && b->kind == INA_CALL_ALLREDUCE)
		return b->number > a->number;
	return false;
}

static bool has_voted(const struct ina_control *control, int rank)
{
	const struct ina_peer *peer = &control->peers[rank];

	return peer->has_report && peer->report.phase == control->phase;
}

/* Rank 0: is a rank absent without a vote? */
static bool has_lost_voter(const struct ina_control *control)
{
	for (int r = 1; r < control->ranks; r++) {
		if (ina_control_is_absent(control, r) && !has_voted(control, r))
			return true;
	}
	return false;
}

/* Of a rank's vote. INA_ERR_PEER is about another rank, which its text names. */
static void pass_on(int rank, enum ina_status status, const char *text, struct ina_failure *failure)
{
	if (status == INA_ERR_PEER)
		ina_fail(failure, status, "%s", text);
	else
		ina_fail(failure, status, "rank %d: %s", rank, text);
}

/* Rank 0: the votes so far. Returns true when the failure, or its absence, is final. */
static bool count_votes(struct ina_control *control, const struct ina_vote *vote, uint32_t *minimum,
                        struct ina_failure *failure)
{
	bool complete = true;

	/* First: what its neighbours saw is that their connections to it failed. */
	if (has_lost_voter(control))
		return ina_control_lost(control, failure);
	*minimum = vote->value;
	for (int r = 1; r < control->ranks; r++) {
		const struct ina_report *report = &control->peers[r].report;

		if (!has_voted(control, r)) {
			complete = false;
			continue;
		}
		if (calls_conflict(&report->call, &vote->call)) { /* see ina_disturbed() */
			complete = false;
			continue;
		}
		if (report->status != INA_OK) {
			pass_on(r, report->status, report->text, failure);
			return true;
		}
		/* A rank that failed before it knew the value has none. */
		if (vote->must_equal && vote->failed->status == INA_OK &&
		    report->value != vote->value) {
			ina_fail(failure, INA_ERR_MISMATCH, "rank %d has %s %u, rank 0 has %u", r,
			         vote->what, report->value, vote->value);
			return true;
		}
		if (report->value < *minimum)
			*minimum = report->value;
	}
	/* Last: rank 0 may have stopped only because of what another rank reported. */
	if (vote->failed->status != INA_OK) {
		pass_on(0, vote->failed->status, vote->failed->text, failure);
		return true;
	}
	return complete;
}

static void name_missing(const struct ina_control *control, const char *doing,
                         struct ina_failure *failure)
{
	unsigned char missing[INA_MAX_RANKS] = {0};
	char names[200];

	for (int r = 1; r < control->ranks; r++)
		missing[r] = !has_voted(control, r);
	ina_list_ranks(names, sizeof(names), missing, control->ranks);
	ina_fail(failure, INA_ERR_TIMEOUT, "%s did not %s in time", names, doing);
}

static enum ina_agreement decide(struct ina_control *control, const struct ina_vote *vote,
                                 int64_t deadline_ms, uint32_t *minimum,
                                 struct ina_failure *failure)
{
	struct ina_control_frame frame = ina_control_frame(control, INA_CONTROL_DECISION);
	struct ina_failure outcome = {INA_OK, ""};

	if (!count_votes(control, vote, minimum, &outcome)) {
		if (vote->call.kind != INA_CALL_NONE && ina_disturbed(control, &vote->call))
			return INA_DISTURBED;
		if (ina_now_ms() < deadline_ms)
			return INA_PENDING;
		name_missing(control, vote->doing, &outcome);
	}
	frame.decision.phase = control->phase;
	frame.decision.status = outcome.status;
	frame.decision.minimum = *minimum;
	set_text(frame.decision.text, outcome.text);
	ina_control_broadcast(control, &frame);
	if (outcome.status == INA_OK)
		return INA_AGREED;
	*failure = outcome;
	return INA_NOT_AGREED;
}

static enum ina_agreement follow(struct ina_control *control, const struct ina_vote *vote,
                                 int64_t deadline_ms, uint32_t *minimum,
                                 struct ina_failure *failure)
{
	if (!control->has_decision || control->decision.phase != control->phase) {
		if (vote->call.kind != INA_CALL_NONE && ina_disturbed(control, &vote->call))
			return INA_DISTURBED;
		if (ina_control_is_absent(control, 0)) {
			ina_fail(failure, INA_ERR_PEER, "rank 0 is gone");
			return INA_NOT_AGREED;
		}
		if (ina_now_ms() < deadline_ms + AGREE_MARGIN_MS)
			return INA_PENDING;
		ina_fail(failure, INA_ERR_TIMEOUT, "rank 0 did not %s in time", vote->doing);
		return INA_NOT_AGREED;
	}
	*minimum = control->decision.minimum;
	if (control->decision.status == INA_OK)
		return INA_AGREED;
	ina_fail(failure, control->decision.status, "%s", control->decision.text);
	return INA_NOT_AGREED;
}

void ina_agree_begin(struct ina_control *control, const struct ina_vote *vote)
{
	struct ina_control_frame frame = ina_control_frame(control, INA_CONTROL_REPORT);

	control->phase++;
	if (control->rank == 0)
		return;
	frame.report.call = vote->call;
	frame.report.phase = control->phase;
	frame.report.status = vote->failed->status;
	frame.report.value = vote->value;
	set_text(frame.report.text, vote->failed->text);
	ina_control_send(control, 0, &frame);
}

enum ina_agreement ina_agree_poll(struct ina_control *control, const struct ina_vote *vote,
                                  int64_t deadline_ms, uint32_t *minimum,
                                  struct ina_failure *failure)
{
	ina_control_pump(control, 0);
	if (control->rank == 0)
		return decide(control, vote, deadline_ms, minimum, failure);
	return follow(control, vote, deadline_ms, minimum, failure);
}

enum ina_agreement ina_agree(struct ina_control *control, const struct ina_vote *vote,
                             int64_t deadline_ms, uint32_t *minimum, struct ina_failure *failure)
{
	int64_t end_ms = control->rank == 0 ? deadline_ms : deadline_ms + AGREE_MARGIN_MS;
	enum ina_agreement agreement;

	ina_agree_begin(control, vote);
	for (;;) {
		agreement = ina_agree_poll(control, vote, deadline_ms, minimum, failure);
		if (agreement != INA_PENDING)
			return agreement;
		ina_control_pump(control, ina_left_ms(end_ms, TICK_MS));
	}
}

enum ina_status ina_agree_on(struct ina_control *control, const char *what, const char *doing,
                             bool must_equal, uint32_t *value, int64_t deadline_ms,
                             struct ina_failure *failure)
{
	struct ina_failure own = *failure;
	const struct ina_vote vote = {
	        .what = what,
	        .doing = doing,
	        .must_equal = must_equal,
	        .value = *value,
	        .failed = &own,
	};

	failure->status = INA_OK;
	ina_agree(control, &vote, deadline_ms, value, failure);
	return failure->status;
}

bool ina_open_failed_elsewhere(struct ina_control *control, struct ina_failure *failure)
{
	bool failed;

	ina_control_pump(control, 0);
	if (ina_control_lost(control, failure))
		return true;
	failed = control->has_decision && control->decision.status != INA_OK;
	for (int r = 0; r < control->ranks; r++)
		failed |= control->peers[r].has_report && control->peers[r].report.status != INA_OK;
	if (failed)
		ina_fail(failure, INA_ERR_PEER, "another rank has failed");
	return failed;
}

bool ina_disturbed(const struct ina_control *control, const struct ina_call *current)
{
	struct ina_failure ignored;

	if (control->asked || control->has_diagnosis || ina_control_lost(control, &ignored))
		return true;
	for (int r = 0; r < control->ranks; r++) {
		const struct ina_peer *peer = &control->peers[r];

		if (peer->has_fault)
			return true;
		if (calls_conflict(&peer->stall, current))
			return true;
		if (peer->has_report && calls_conflict(&peer->report.call, current))
			return true;
	}
	return false;
}

void ina_tell_stall(struct ina_control *control, const struct ina_call *current)
{
	struct ina_control_frame frame;

	if (control->rank == 0 || control->stall_told)
		return;
	frame = ina_control_frame(control, INA_CONTROL_STALL);
	frame.stall = *current;
	ina_control_send(control, 0, &frame);
	control->stall_told = true;
}

void ina_end_stall(struct ina_control *control)
{
	struct ina_control_frame frame;

	if (!control->stall_told)
		return;
	frame = ina_control_frame(control, INA_CONTROL_STALL);
	frame.stall = (struct ina_call){.kind = INA_CALL_NONE};
	ina_control_send(control, 0, &frame);
	control->stall_told = false;
}

bool ina_all_stalled(const struct ina_control *control)
{
	if (control->rank != 0)
		return false;
	for (int r = 1; r < control->ranks; r++) {
		if (control->peers[r].stall.kind != INA_CALL_ALLREDUCE)
			return false;
	}
	return true;
}
