/* SPDX-License-Identifier: Apache-2.0 */
/* The diagnosis of a fault, from the reports of all ranks. */
#include "diagnosis.h"

#include <inttypes.h>
#include <stdio.h>

#include "hostlib/elements/number.h"

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
static const struct ina_call *call_of(const struct ina_called *called, uint64_t number)
{
	const struct ina_call *current = &called->current;
	const struct ina_call *previous = &called->previous;

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
static uint64_t next_call(const struct ina_calls *calls, uint64_t after)
{
	uint64_t number = 0;

	for (uint32_t i = 0; i < calls->count; i++) {
		const struct ina_call *call = &calls->called[i].current;

		if (call->kind == INA_CALL_ALLREDUCE && call->number > after &&
		    (number == 0 || call->number < number))
			number = call->number;
	}
	return number;
}

/* The earliest of all: the one that cannot be finished. */
static uint64_t stuck_call(const struct ina_calls *calls)
{
	return next_call(calls, 0);
}

/* Has it come to this all-reduce? And is it known what it called there? */
static bool counts(const struct ina_called *called, uint64_t number)
{
	const struct ina_call *current = &called->current;

	return !(current->kind == INA_CALL_ALLREDUCE && current->number < number) &&
	       call_of(called, number);
}

/* The lowest rank of those that count, and of them, whose call is another than `but`'s. */
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

/* Of the ranks that have come to this all-reduce. */
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
	char mine[96];
	char theirs[96];

	if (!other)
		return false;
	a = call_of(reference, number);
	b = call_of(other, number);
	both = a->kind == INA_CALL_ALLREDUCE && b->kind == INA_CALL_ALLREDUCE &&
	       a->number == b->number;
	say_op = both && a->op != b->op;
	describe_call(mine, sizeof(mine), a, say_op);
	describe_call(theirs, sizeof(theirs), b, say_op);
	if (both) {
		char elements[64];

		describe_elements(elements, sizeof(elements), a, say_op);
		snprintf(mine, sizeof(mine), "with %s", elements);
	}
	ina_fail(failure, INA_ERR_MISMATCH, "rank %u called %s, rank %u %s", other->rank, theirs,
	         reference->rank, mine);
	return true;
}

bool ina_calls_differ(const struct ina_faults *faults)
{
	struct ina_failure ignored;

	return compare_calls(&faults->calls, stuck_call(&faults->calls), &ignored);
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
		return ina_fail(failure, INA_ERR_TIMEOUT,
		                "all-reduce %" PRIu64 " waits for %s: rank %u %s", number, names,
		                faults->rank, faults->text);
	if (faults->status != INA_OK)
		return ina_fail(failure, faults->status, "rank %u in all-reduce %" PRIu64 ": %s",
		                faults->rank, number, faults->text);
	/* Ranks ahead of the one that is stuck, which only is late, may have come to blows. */
	while ((number = next_call(calls, number)) != 0) {
		if (compare_calls(calls, number, failure))
			return failure->status;
	}
	return ina_fail(failure, INA_ERR_PEER, "a rank reported a fault that no rank has seen");
}
