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
static bool compare_calls(const struct ina_fault *faults, const unsigned char *has_fault, int ranks,
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

	return compare_calls(faults, has_fault, ranks, stuck_call(faults, has_fault, ranks),
	                     &ignored);
}

enum ina_status ina_diagnose(const struct ina_fault *faults, const unsigned char *has_fault,
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
	if (compare_calls(faults, has_fault, ranks, number, failure))
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
		if (compare_calls(faults, has_fault, ranks, number, failure))
			return failure->status;
	}
	return ina_fail(failure, INA_ERR_PEER, "a rank reported a fault that no rank has seen");
}
