/* SPDX-License-Identifier: Apache-2.0 */
/* Agreements: rank 0 decides on the votes of all ranks. */
#include "agreement.h"

#include <stdio.h>

#include "common/deadline.h"
#include "telling.h"

#define TICK_MS 200

/*
 * The other ranks wait this much longer than rank 0, because rank 0 knows which ranks are missing.
 */
#define AGREE_MARGIN_MS 3000

static void set_text(char *text, const char *from)
{
	snprintf(text, INA_CONTROL_TEXT, "%.*s", INA_CONTROL_TEXT - 1, from);
}

static bool has_voted(const struct ina_control *control, int rank)
{
	return control->votes.phase == control->phase &&
	       ina_ranks_have(&control->votes.voted, rank);
}

/* Rank 0: has a rank left or died without a vote? */
static bool has_lost_voter(const struct ina_control *control)
{
	for (int r = 1; r < control->ranks; r++) {
		if (ina_control_is_absent(control, r) && !has_voted(control, r))
			return true;
	}
	return false;
}

/*
 * Makes the failure from a rank's vote. The text of INA_ERR_PEER already names a rank: the one that
 * was lost.
 */
static void pass_on(uint32_t rank, enum ina_status status, const char *text,
                    struct ina_failure *failure)
{
	if (status == INA_ERR_PEER)
		ina_fail(failure, status, "%s", text);
	else
		ina_fail(failure, status, "rank %u: %s", rank, text);
}

/* Rank 0: finds the lowest rank whose value differs from this one; NULL if all values are equal. */
static const struct ina_value *find_other(const struct ina_votes *votes, uint32_t value)
{
	const struct ina_value *least = votes->least.value != value ? &votes->least : NULL;
	const struct ina_value *most = votes->most.value != value ? &votes->most : NULL;

	if (least && most)
		return least->rank < most->rank ? least : most;
	return least ? least : most;
}

/* Rank 0: evaluates the votes that have arrived. Returns true when the result is final. */
static bool count_votes(struct ina_control *control, const struct ina_vote *vote, uint32_t *minimum,
                        struct ina_failure *failure)
{
	const struct ina_votes *votes = &control->votes;
	bool has_value = vote->failed->status == INA_OK;
	const struct ina_value *other;

	/*
	 * Check this first: the neighbours of a lost rank report only that their connections to it
	 * failed.
	 */
	if (has_lost_voter(control))
		return ina_control_lost(control, failure);
	*minimum = vote->value;
	if (votes->phase != control->phase || ina_calls_have_conflict(&votes->calls, &vote->call))
		return false; /* ina_disturbed() reports this */
	if (votes->status != INA_OK) {
		pass_on(votes->failed_rank, votes->status, votes->text, failure);
		return true;
	}
	/* A rank that failed before it knew the value votes without one. */
	other = has_value && vote->must_equal ? find_other(votes, vote->value) : NULL;
	if (other) {
		ina_fail(failure, INA_ERR_MISMATCH, "rank %u has %s %u, rank 0 has %u", other->rank,
		         vote->what, other->value, vote->value);
		return true;
	}
	if (votes->least.value < *minimum)
		*minimum = votes->least.value;
	/* Check this last: rank 0 may have stopped only because another rank reported a failure. */
	if (!has_value) {
		pass_on(0, vote->failed->status, vote->failed->text, failure);
		return true;
	}
	return ina_ranks_count(&votes->voted, control->ranks) == control->ranks;
}

static void name_missing(const struct ina_control *control, const char *doing,
                         struct ina_failure *failure)
{
	struct ina_ranks missing = {{0}};
	char names[200];

	for (int r = 1; r < control->ranks; r++) {
		if (!has_voted(control, r))
			ina_ranks_add(&missing, r);
	}
	ina_ranks_list(names, sizeof(names), &missing, control->ranks);
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
		if (ina_is_stopped(control->stop, &outcome))
			pass_on(0, outcome.status, outcome.text, &outcome);
		else if (ina_now_ms() < deadline_ms)
			return INA_PENDING;
		else
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
	const struct ina_decision *decision = ina_control_decision(control, control->phase);

	if (!decision) {
		if (vote->call.kind != INA_CALL_NONE && ina_disturbed(control, &vote->call))
			return INA_DISTURBED;
		if (ina_control_is_absent(control, 0)) {
			ina_fail(failure, INA_ERR_PEER, "rank 0 disconnected");
			return INA_NOT_AGREED;
		}
		if (ina_is_stopped(control->stop, failure))
			return INA_NOT_AGREED;
		if (ina_now_ms() < deadline_ms + AGREE_MARGIN_MS)
			return INA_PENDING;
		ina_fail(failure, INA_ERR_TIMEOUT, "rank 0 did not %s in time", vote->doing);
		return INA_NOT_AGREED;
	}
	*minimum = decision->minimum;
	if (decision->status == INA_OK)
		return INA_AGREED;
	ina_fail(failure, decision->status, "%s", decision->text);
	return INA_NOT_AGREED;
}

/*
 * Rank 0 does not put its failure into the votes, because another rank's failure may be its cause.
 */
static struct ina_votes make_votes(const struct ina_control *control, const struct ina_vote *vote)
{
	const struct ina_failure *failed = vote->failed;
	uint32_t rank = (uint32_t)control->rank;
	struct ina_value value = {.value = vote->value,
	                          .rank = failed->status == INA_OK ? rank : UINT32_MAX};
	struct ina_votes votes = {.phase = control->phase, .least = value, .most = value};

	ina_ranks_add(&votes.voted, control->rank);
	if (vote->call.kind != INA_CALL_NONE)
		votes.calls = (struct ina_calls){.count = 1,
		                                 .called = {{.current = vote->call, .rank = rank}}};
	if (failed->status != INA_OK && rank != 0) {
		votes.status = failed->status;
		votes.failed_rank = rank;
		set_text(votes.text, failed->text);
	}
	return votes;
}

void ina_agree_begin(struct ina_control *control, const struct ina_vote *vote)
{
	struct ina_votes votes;

	/* Learn which ranks are lost before errors that follow from it are reported. */
	ina_control_pump(control, 0);
	control->phase++;
	votes = make_votes(control, vote);
	ina_control_take_votes(control, &votes);
	ina_control_tell(control);
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

bool ina_agree_has_failed(const struct ina_control *control)
{
	uint32_t next = control->phase + 1;
	const struct ina_decision *decision = ina_control_decision(control, next);

	return (control->votes.phase == next && control->votes.status != INA_OK) ||
	       (decision && decision->status != INA_OK);
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
	ina_control_pump(control, 0);
	if (ina_is_stopped(control->stop, failure) || ina_control_lost(control, failure))
		return true;
	if (!ina_agree_has_failed(control))
		return false;
	ina_fail(failure, INA_ERR_PEER, "another rank has failed");
	return true;
}

bool ina_disturbed(const struct ina_control *control, const struct ina_call *current)
{
	struct ina_failure ignored;

	if (control->asked || control->has_diagnosis || ina_control_lost(control, &ignored) ||
	    ina_calls_have_conflict(&control->votes.calls, current))
		return true;
	for (int i = 0; i < control->count; i++) {
		if (ina_calls_conflict(&control->neighbours[i].stall.call, current))
			return true;
	}
	return false;
}

void ina_tell_stall(struct ina_control *control, const struct ina_call *current)
{
	if (control->stall.kind != INA_CALL_NONE)
		return;
	control->stall = *current;
	ina_control_tell_stall(control);
}

void ina_end_stall(struct ina_control *control)
{
	if (control->stall.kind == INA_CALL_NONE)
		return;
	control->stall = (struct ina_call){.kind = INA_CALL_NONE};
	ina_control_tell_stall(control);
}

bool ina_all_stalled(const struct ina_control *control)
{
	return control->rank == 0 && ina_control_children_stall(control);
}
