/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions of all ranks, made by rank 0 from what the others report. */
#include "verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/deadline.h"
#include "number.h"

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

	if (control->asked || control->has_verdict || ina_control_lost(control, &ignored))
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

/* "1000 float32", and for what, where that is the difference. */
static void describe_elements(char *text, size_t size, const struct ina_call *call, bool say_op)
{
	const char *type = ina_type_name(call->type);
	const char *op = ina_op_name(call->op);

	snprintf(text, size, "%" PRIu64 " %s%s%s", call->count, type ? type : "elements",
	         say_op && op ? " for their " : "", say_op && op ? op : "");
}

static void describe_call(char *text, size_t size, const struct ina_call *call, bool say_op)
{
	char elements[64];

	describe_elements(elements, sizeof(elements), call, say_op);
	if (call->kind == INA_CALL_ALLREDUCE)
		snprintf(text, size, "all-reduce %" PRIu64 " with %s", call->number, elements);
	else if (call->kind == INA_CALL_CLOSE)
		snprintf(text, size, "ina_close after %" PRIu64 " all-reduces", call->number);
	else
		snprintf(text, size, "nothing");
}

/*
 * The call of this number that the rank is in or finished last; else the one that it is in. NULL:
 * it has finished that all-reduce and others since, which is proof that all ranks agreed on it.
 */
static const struct ina_call *call_of(const struct ina_fault *fault, uint64_t number)
{
	const struct ina_call *current = &fault->current;
	const struct ina_call *previous = &fault->previous;

	if (current->kind == INA_CALL_ALLREDUCE && current->number == number)
		return current;
	if (previous->kind != INA_CALL_ALLREDUCE || previous->number < number)
		return current;
	return previous->number == number ? previous : NULL;
}

static bool same_call(const struct ina_call *a, const struct ina_call *b)
{
	return a->kind == b->kind && a->number == b->number && a->count == b->count &&
	       a->type == b->type && a->op == b->op;
}

/* The earliest all-reduce behind number `after` that some rank is in, or 0. */
static uint64_t next_call(const struct ina_fault *faults, const unsigned char *has_fault, int ranks,
                          uint64_t after)
{
	uint64_t number = 0;

	for (int r = 0; r < ranks; r++) {
		const struct ina_call *call = &faults[r].current;

		if (has_fault[r] && call->kind == INA_CALL_ALLREDUCE && call->number > after &&
		    (number == 0 || call->number < number))
			number = call->number;
	}
	return number;
}

/* The earliest of all: the one that cannot be finished. */
static uint64_t stuck_call(const struct ina_fault *faults, const unsigned char *has_fault,
                           int ranks)
{
	return next_call(faults, has_fault, ranks, 0);
}

static bool is_before(const struct ina_fault *fault, uint64_t number)
{
	return fault->current.kind == INA_CALL_ALLREDUCE && fault->current.number < number;
}

/* Of the ranks that have come to this all-reduce. */
static bool judge_calls(const struct ina_fault *faults, const unsigned char *has_fault, int ranks,
                        uint64_t number, struct ina_failure *failure)
{
	int reference = -1;

	for (int r = 0; r < ranks; r++) {
		char mine[96];
		char theirs[96];

		if (!has_fault[r] || is_before(&faults[r], number) || !call_of(&faults[r], number))
			continue;
		if (reference < 0) {
			reference = r;
			continue;
		}
		const struct ina_call *a = call_of(&faults[reference], number);
		const struct ina_call *b = call_of(&faults[r], number);

		if (same_call(a, b))
			continue;
		bool both = a->kind == INA_CALL_ALLREDUCE && b->kind == INA_CALL_ALLREDUCE &&
		            a->number == b->number;
		bool say_op = both && a->op != b->op;

		describe_call(mine, sizeof(mine), a, say_op);
		describe_call(theirs, sizeof(theirs), b, say_op);
		if (both) {
			char elements[64];

			describe_elements(elements, sizeof(elements), a, say_op);
			snprintf(mine, sizeof(mine), "with %s", elements);
		}
		ina_fail(failure, INA_ERR_MISMATCH, "rank %d called %s, rank %d %s", r, theirs,
		         reference, mine);
		return true;
	}
	return false;
}

bool ina_calls_differ(const struct ina_fault *faults, const unsigned char *has_fault, int ranks)
{
	struct ina_failure ignored;

	return judge_calls(faults, has_fault, ranks, stuck_call(faults, has_fault, ranks),
	                   &ignored);
}

enum ina_status ina_judge(const struct ina_fault *faults, const unsigned char *has_fault,
                          const unsigned char *gone, int ranks, struct ina_failure *failure)
{
	uint64_t number = stuck_call(faults, has_fault, ranks);
	unsigned char silent[INA_MAX_RANKS] = {0};
	unsigned char lost[INA_MAX_RANKS] = {0};
	int first = -1;
	int silent_count = 0;
	int lost_count = 0;

	for (int r = 0; r < ranks; r++) {
		lost[r] = gone[r] && !has_fault[r];
		lost_count += lost[r];
		silent[r] = !gone[r] && !has_fault[r];
		silent_count += silent[r];
		if (has_fault[r] && faults[r].status != INA_OK &&
		    (first < 0 || faults[r].message < faults[first].message))
			first = r;
	}
	if (lost_count > 0)
		return ina_fail_gone(failure, lost, ranks);
	if (judge_calls(faults, has_fault, ranks, number, failure))
		return failure->status;
	if (first >= 0 && faults[first].status == INA_ERR_TIMEOUT && silent_count > 0) {
		char names[200];

		ina_list_ranks(names, sizeof(names), silent, ranks);
		return ina_fail(failure, INA_ERR_TIMEOUT,
		                "all-reduce %" PRIu64 " waits for %s: rank %d %s", number, names,
		                first, faults[first].text);
	}
	if (first >= 0)
		return ina_fail(failure, faults[first].status,
		                "rank %d in all-reduce %" PRIu64 ": %s", first, number,
		                faults[first].text);
	/* Ranks ahead of the one that is stuck, which only is late, may have come to blows. */
	while ((number = next_call(faults, has_fault, ranks, number)) != 0) {
		if (judge_calls(faults, has_fault, ranks, number, failure))
			return failure->status;
	}
	return ina_fail(failure, INA_ERR_PEER, "a rank reported a fault that no rank has seen");
}
