/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the votes or fault reports of several ranks. */
#include "votes.h"

#include <string.h>

bool ina_calls_agree(const struct ina_call *a, const struct ina_call *b)
{
	return a->kind == b->kind && a->count == b->count && a->type == b->type && a->op == b->op &&
	       a->root == b->root;
}

bool ina_calls_conflict(const struct ina_call *a, const struct ina_call *b)
{
	if (ina_call_is_counted(a) && ina_call_is_counted(b))
		return a->number == b->number && !ina_calls_agree(a, b);
	if (ina_call_is_counted(a) && b->kind == INA_CALL_CLOSE)
		return a->number > b->number;
	if (a->kind == INA_CALL_CLOSE && ina_call_is_counted(b))
		return b->number > a->number;
	return false;
}

bool ina_calls_have_conflict(const struct ina_calls *calls, const struct ina_call *call)
{
	for (uint32_t i = 0; i < calls->count; i++) {
		if (ina_calls_conflict(&calls->called[i].current, call))
			return true;
	}
	return false;
}

/*
 * The place of a call in the sequence. ina_close() comes after all earlier calls, and so does a
 * rank that is in no call.
 */
static uint64_t place_of(const struct ina_call *call)
{
	return call->number + !ina_call_is_counted(call);
}

/*
 * Orders by the place in the sequence. For equal places any order will do, provided that all ranks
 * use the same one.
 */
static int compare(const struct ina_called *a, const struct ina_called *b)
{
	uint64_t of_a = place_of(&a->current);
	uint64_t of_b = place_of(&b->current);
	int order;

	if (of_a != of_b)
		return of_a < of_b ? -1 : 1;
	order = memcmp(&a->current, &b->current, sizeof(a->current));
	return order != 0 ? order : memcmp(&a->previous, &b->previous, sizeof(a->previous));
}

static bool add_call(struct ina_calls *calls, const struct ina_called *called)
{
	uint32_t place = 0;
	int order = 1;

	while (place < calls->count && (order = compare(called, &calls->called[place])) > 0)
		place++;
	if (place < calls->count && order == 0) {
		if (calls->called[place].rank <= called->rank)
			return false;
		calls->called[place].rank = called->rank;
		return true;
	}
	if (place == INA_CALLED_MAX)
		return false;
	if (calls->count < INA_CALLED_MAX)
		calls->count++;
	memmove(&calls->called[place + 1], &calls->called[place],
	        (calls->count - place - 1) * sizeof(calls->called[0]));
	calls->called[place] = *called;
	return true;
}

static bool merge_calls(struct ina_calls *calls, const struct ina_calls *others)
{
	bool changed = false;

	for (uint32_t i = 0; i < others->count; i++)
		changed |= add_call(calls, &others->called[i]);
	return changed;
}

/* Is the first value the one to keep? Of equal values, that of the lower rank is kept. */
static bool is_before(uint64_t a, uint32_t rank_a, uint64_t b, uint32_t rank_b)
{
	return a != b ? a < b : rank_a < rank_b;
}

/* INA_ERR_PEER only says that another rank has failed, so any other status takes precedence. */
static bool fails_before(const struct ina_votes *a, const struct ina_votes *b)
{
	if (a->status == INA_OK || b->status == INA_OK)
		return a->status != INA_OK && b->status == INA_OK;
	return is_before(a->status == INA_ERR_PEER, a->failed_rank, b->status == INA_ERR_PEER,
	                 b->failed_rank);
}

/* Does any rank have a value? A rank that has failed votes without a value. */
static bool has_value(const struct ina_votes *votes)
{
	return votes->least.rank != UINT32_MAX;
}

static bool merge_values(struct ina_votes *votes, const struct ina_votes *other)
{
	bool lower;
	bool higher;

	if (!has_value(other))
		return false;
	lower = !has_value(votes) || is_before(other->least.value, other->least.rank,
	                                       votes->least.value, votes->least.rank);
	higher = !has_value(votes) || is_before(~other->most.value, other->most.rank,
	                                        ~votes->most.value, votes->most.rank);
	if (lower)
		votes->least = other->least;
	if (higher)
		votes->most = other->most;
	return lower || higher;
}

bool ina_votes_merge(struct ina_votes *votes, const struct ina_votes *other)
{
	bool changed = ina_ranks_unite(&votes->voted, &other->voted);

	changed |= merge_values(votes, other);
	changed |= merge_calls(&votes->calls, &other->calls);
	if (!fails_before(other, votes))
		return changed;
	votes->status = other->status;
	votes->failed_rank = other->failed_rank;
	memcpy(votes->text, other->text, sizeof(votes->text));
	return true;
}

/*
 * A fault that the ring cannot recover from is worse; after that, the earlier message and then the
 * lower rank decide.
 */
static bool is_worse(const struct ina_faults *a, const struct ina_faults *b)
{
	bool recoverable_a = ina_status_is_recoverable(a->status);
	bool recoverable_b = ina_status_is_recoverable(b->status);

	if (a->status == INA_OK || b->status == INA_OK)
		return a->status != INA_OK && b->status == INA_OK;
	if (recoverable_a != recoverable_b)
		return recoverable_b;
	return is_before(a->message, a->rank, b->message, b->rank);
}

static bool is_empty(const struct ina_ranks *set)
{
	static const struct ina_ranks nobody;

	return ina_ranks_include(&nobody, set);
}

static bool merge_sums(struct ina_faults *faults, const struct ina_faults *other)
{
	bool first = is_empty(&faults->reported);
	bool changed = false;

	if (first || other->least_sums < faults->least_sums) {
		faults->least_sums = other->least_sums;
		changed = true;
	}
	if (first ||
	    is_before(~other->most_sums, other->owner, ~faults->most_sums, faults->owner)) {
		faults->most_sums = other->most_sums;
		faults->owner = other->owner;
		changed = true;
	}
	return changed;
}

bool ina_faults_merge(struct ina_faults *faults, const struct ina_faults *other)
{
	bool changed;

	if (is_empty(&other->reported))
		return false;
	changed = merge_sums(faults, other);
	changed |= ina_ranks_unite(&faults->reported, &other->reported);
	changed |= merge_calls(&faults->calls, &other->calls);
	if (!is_worse(other, faults))
		return changed;
	faults->status = other->status;
	faults->rank = other->rank;
	faults->message = other->message;
	faults->call = other->call;
	memcpy(faults->text, other->text, sizeof(faults->text));
	return true;
}

struct ina_faults ina_faults_of(uint32_t round, int rank, const struct ina_fault *fault)
{
	struct ina_faults faults = {
	        .round = round,
	        .status = fault->status,
	        .rank = (uint32_t)rank,
	        .message = fault->message,
	        .least_sums = fault->sums,
	        .most_sums = fault->sums,
	        .owner = (uint32_t)rank,
	        .call = fault->current,
	        .calls = {.count = 1,
	                  .called = {{.current = fault->current,
	                              .previous = fault->previous,
	                              .rank = (uint32_t)rank}}},
	};

	ina_ranks_add(&faults.reported, rank);
	memcpy(faults.text, fault->text, sizeof(faults.text));
	return faults;
}
