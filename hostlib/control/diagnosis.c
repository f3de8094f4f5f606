/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnoses a fault from the reports of all ranks. */
#include "diagnosis.h"

#include <inttypes.h>
#include <stdio.h>

#include "hostlib/elements/number.h"

/* Writes "with 1000 float32 at root 2". If the operations differ, say_op adds the operation. */
static void describe_elements(char *text, size_t size, const struct ina_call *call, bool say_op)
{
	const char *type = ina_type_name((enum ina_type)call->type);
	const char *op = ina_op_name((enum ina_op)call->op);
	char root[24] = "";

	if (ina_call_has_root((enum ina_call_kind)call->kind))
		snprintf(root, sizeof(root), " at root %u", call->root);
	if (call->kind == INA_CALL_ALLREDUCE && call->root != 0)
		snprintf(root, sizeof(root), ", fused from %u", call->root);
	snprintf(text, size, "with %" PRIu64 " %s%s%s%s", call->count, type ? type : "elements",
	         say_op && op ? ", operation " : "", say_op && op ? op : "", root);
}

/* Writes " in all-reduce 5", or nothing for a rank that is in no call. */
static void describe_place(char *text, size_t size, const struct ina_call *call)
{
	const char *name = ina_call_name((enum ina_call_kind)call->kind);

	if (call->kind == INA_CALL_NONE)
		text[0] = '\0';
	else if (ina_call_is_counted(call))
		snprintf(text, size, " in %s %" PRIu64, name, call->number);
	else
		snprintf(text, size, " in %s", name);
}

static void describe_call(char *text, size_t size, const struct ina_call *call, bool say_op)
{
	const char *name = ina_call_name((enum ina_call_kind)call->kind);
	char elements[80] = "";

	if (call->kind == INA_CALL_CLOSE) {
		snprintf(text, size, "%s after %" PRIu64 " calls", name, call->number);
		return;
	}
	if (ina_call_has_elements((enum ina_call_kind)call->kind))
		describe_elements(elements, sizeof(elements), call, say_op);
	if (ina_call_is_counted(call))
		snprintf(text, size, "%s %" PRIu64 "%s%s", name, call->number,
		         elements[0] ? " " : "", elements);
	else
		snprintf(text, size, "%s", name);
}

/*
 * The call with this number, if the rank is in it or finished it last. Otherwise the call that the
 * rank is in, with kind NONE if it is in none. NULL if the rank has finished that call and a later
 * one: this proves that all ranks agreed on it.
 */
static const struct ina_call *call_of(const struct ina_called *called, uint64_t number)
{
	const struct ina_call *current = &called->current;
	const struct ina_call *previous = &called->previous;

	if (ina_call_is_counted(current) && current->number == number)
		return current;
	if (!ina_call_is_counted(previous) || previous->number < number)
		return current;
	return previous->number == number ? previous : NULL;
}

static bool same_call(const struct ina_call *a, const struct ina_call *b)
{
	return a->number == b->number && ina_calls_agree(a, b);
}

/* The number of the earliest call after number `after` that some rank is in, or 0. */
static uint64_t next_call(const struct ina_calls *calls, uint64_t after)
{
	uint64_t number = 0;

	for (uint32_t i = 0; i < calls->count; i++) {
		const struct ina_call *call = &calls->called[i].current;

		if (ina_call_is_counted(call) && call->number > after &&
		    (number == 0 || call->number < number))
			number = call->number;
	}
	return number;
}

/* The number of the earliest call that some rank is in: the one that cannot finish. */
static uint64_t stuck_call(const struct ina_calls *calls)
{
	return next_call(calls, 0);
}

/*
 * Has the rank reached this call, and is it known what it called there? A rank that is in no call
 * has yet to reach its next one: it is late, and may still make the same call.
 */
static bool counts(const struct ina_called *called, uint64_t number)
{
	const struct ina_call *current = &called->current;
	const struct ina_call *call = call_of(called, number);

	return call && call->kind != INA_CALL_NONE &&
	       !(ina_call_is_counted(current) && current->number < number);
}

/*
 * Of the ranks that count, finds the lowest. If `but` is set, finds the lowest whose call differs
 * from it.
 */
static const struct ina_called *find_lowest(const struct ina_calls *calls, uint64_t number,
                                            const struct ina_call *but)
{
	const struct ina_called *lowest = NULL;

	for (uint32_t i = 0; i < calls->count; i++) {
		const struct ina_called *called = &calls->called[i];

		if (!counts(called, number) || (but && same_call(call_of(called, number), but)))
			continue;
		if (!lowest || called->rank < lowest->rank)
			lowest = called;
	}
	return lowest;
}

/* Compares the calls of the ranks that have reached this one. */
static bool compare_calls(const struct ina_calls *calls, uint64_t number,
                          struct ina_failure *failure)
{
	const struct ina_called *reference = find_lowest(calls, number, NULL);
	const struct ina_called *other =
	        reference ? find_lowest(calls, number, call_of(reference, number)) : NULL;
	const struct ina_call *a;
	const struct ina_call *b;
	bool both;
	bool say_op;
	char mine[128];
	char theirs[128];

	if (!other)
		return false;
	a = call_of(reference, number);
	b = call_of(other, number);
	both = ina_call_is_counted(a) && a->kind == b->kind && a->number == b->number;
	say_op = both && a->op != b->op;
	describe_call(mine, sizeof(mine), a, say_op);
	describe_call(theirs, sizeof(theirs), b, say_op);
	if (both)
		describe_elements(mine, sizeof(mine), a, say_op);
	ina_fail(failure, INA_ERR_MISMATCH, "rank %u called %s, rank %u %s", other->rank, theirs,
	         reference->rank, mine);
	return true;
}

bool ina_calls_differ(const struct ina_faults *faults)
{
	struct ina_failure ignored;

	return compare_calls(&faults->calls, stuck_call(&faults->calls), &ignored);
}

/* The name of the call with this number, as the lowest rank in it called it. */
static const char *name_of(const struct ina_calls *calls, uint64_t number)
{
	const struct ina_called *called = find_lowest(calls, number, NULL);

	return ina_call_name(called ? (enum ina_call_kind)call_of(called, number)->kind
	                            : INA_CALL_ALLREDUCE);
}

static struct ina_ranks without(const struct ina_ranks *set, const struct ina_ranks *those)
{
	struct ina_ranks rest = *set;

	for (int i = 0; i < INA_MAX_RANKS; i++) {
		if (ina_ranks_have(those, i))
			ina_ranks_remove(&rest, i);
	}
	return rest;
}

enum ina_status ina_diagnose(const struct ina_faults *faults, const struct ina_ranks *gone,
                             int ranks, struct ina_failure *failure)
{
	const struct ina_calls *calls = &faults->calls;
	uint64_t number = stuck_call(calls);
	struct ina_ranks lost = without(gone, &faults->reported);
	struct ina_ranks others = ina_ranks_others(&faults->reported, ranks);
	struct ina_ranks silent = without(&others, gone);
	char names[200];

	if (ina_ranks_count(&lost, ranks) > 0)
		return ina_fail_gone(failure, &lost, ranks);
	if (compare_calls(calls, number, failure))
		return failure->status;
	if (faults->status == INA_ERR_TIMEOUT &&
	    ina_ranks_list(names, sizeof(names), &silent, ranks) > 0)
		return ina_fail(failure, INA_ERR_TIMEOUT, "%s %" PRIu64 " waits for %s: rank %u %s",
		                name_of(calls, number), number, names, faults->rank, faults->text);
	if (faults->status != INA_OK) {
		describe_place(names, sizeof(names), &faults->call);
		return ina_fail(failure, faults->status, "rank %u%s: %s", faults->rank, names,
		                faults->text);
	}
	/*
	 * The rank that is stuck may only be late. Ranks ahead of it may have made calls that
	 * differ.
	 */
	while ((number = next_call(calls, number)) != 0) {
		if (compare_calls(calls, number, failure))
			return failure->status;
	}
	return ina_fail(failure, INA_ERR_PEER, "a rank reported a fault that no rank has seen");
}
