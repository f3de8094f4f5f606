/* SPDX-License-Identifier: Apache-2.0 */
/* The conclusion from the reports of all ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "hostlib/control/diagnosis.h"

#define RANKS 3

static struct ina_fault faults[RANKS];
static unsigned char has_fault[RANKS];
static unsigned char gone[RANKS];

static struct ina_call allreduce(uint64_t number, uint64_t count, enum ina_type type)
{
	return (struct ina_call){.number = number,
	                         .count = count,
	                         .kind = INA_CALL_ALLREDUCE,
	                         .type = (uint16_t)type,
	                         .op = INA_SUM};
}

/* All ranks are in all-reduce 5 of 1000 float32 and have reported; rank 1 saw message 17 fail. */
static int all_alike(void **state)
{
	(void)state;
	memset(gone, 0, sizeof(gone));
	for (int r = 0; r < RANKS; r++) {
		has_fault[r] = 1;
		faults[r] = (struct ina_fault){.current = allreduce(5, 1000, INA_FLOAT32),
		                               .previous = allreduce(4, 10, INA_INT32)};
	}
	faults[1].status = INA_ERR_AGGREGATOR;
	faults[1].message = 17;
	strcpy(faults[1].text, "the aggregator dropped out in message 17");
	return 0;
}

static struct ina_faults all_reports(void)
{
	struct ina_faults all = {.round = 0};

	/* In an order that is not theirs, and one of them twice. */
	for (int i = 0; i < 2 * RANKS - 1; i++) {
		int r = (2 * RANKS - 1 - i) % RANKS;
		struct ina_faults one = ina_faults_of(0, r, &faults[r]);

		if (has_fault[r])
			ina_faults_merge(&all, &one);
	}
	return all;
}

static bool differ(void)
{
	struct ina_faults all = all_reports();

	return ina_calls_differ(&all);
}

static void judged(enum ina_status status, const char *words)
{
	struct ina_failure failure = {INA_OK, ""};
	struct ina_faults all = all_reports();
	struct ina_ranks lost = {{0}};

	for (int r = 0; r < RANKS; r++) {
		if (gone[r])
			ina_ranks_add(&lost, r);
	}
	assert_int_equal(ina_diagnose(&all, &lost, RANKS, &failure), status);
	assert_int_equal(failure.status, status);
	if (!strstr(failure.text, words))
		fail_msg("\"%s\" does not say \"%s\"", failure.text, words);
}

static void aggregator_lost(void **state)
{
	(void)state;
	judged(INA_ERR_AGGREGATOR,
	       "rank 1 in all-reduce 5: the aggregator dropped out in message 17");
	/* Another rank saw an earlier failure. */
	faults[2].status = INA_ERR_AGGREGATOR;
	faults[2].message = 16;
	strcpy(faults[2].text, "the aggregator dropped out in message 16");
	judged(INA_ERR_AGGREGATOR, "message 16");
}

static void counts_differ(void **state)
{
	(void)state;
	faults[1].current.count = 2000;
	judged(INA_ERR_MISMATCH,
	       "rank 1 called all-reduce 5 with 2000 float32, rank 0 with 1000 float32");
}

static void types_differ(void **state)
{
	(void)state;
	faults[2].current.type = INA_INT32;
	judged(INA_ERR_MISMATCH,
	       "rank 2 called all-reduce 5 with 1000 int32, rank 0 with 1000 float32");
}

static void kinds_and_roots_differ(void **state)
{
	(void)state;
	faults[2].current.kind = INA_CALL_ALL_GATHER;
	judged(INA_ERR_MISMATCH, "rank 2 called all-gather 5 with 1000 float32, rank 0 all-reduce "
	                         "5 with 1000 float32");
	faults[2].current = (struct ina_call){.number = 5, .kind = INA_CALL_BARRIER};
	judged(INA_ERR_MISMATCH, "rank 2 called barrier 5, rank 0 all-reduce 5 with 1000 float32");
	for (int r = 0; r < RANKS; r++) {
		faults[r].current = allreduce(5, 1000, INA_FLOAT32);
		faults[r].current.kind = INA_CALL_BROADCAST;
		faults[r].current.root = r == 2 ? 3 : 1;
	}
	judged(INA_ERR_MISMATCH, "rank 2 called broadcast 5 with 1000 float32 at root 3, rank 0 "
	                         "with 1000 float32 at root 1");
	faults[2].current.root = 1;
	judged(INA_ERR_AGGREGATOR, "rank 1 in broadcast 5: ");
}

/* A rank that finished the call and is in the next one is no mismatch, */
static void one_is_ahead(void **state)
{
	(void)state;
	faults[0].previous = faults[0].current;
	faults[0].current = allreduce(6, 77, INA_INT32);
	judged(INA_ERR_AGGREGATOR, "all-reduce 5");
	/* unless it finished a different call under that number. */
	faults[0].previous.count = 999;
	judged(INA_ERR_MISMATCH, "999");
}

/* Small all-reduces share a window: a rank may have finished many that another one has not. */
static void one_is_far_ahead(void **state)
{
	(void)state;
	faults[0].previous = allreduce(11, 3, INA_INT32);
	faults[0].current = allreduce(12, 77, INA_INT32);
	judged(INA_ERR_AGGREGATOR, "all-reduce 5");
	faults[0].current = (struct ina_call){.kind = INA_CALL_CLOSE, .number = 11};
	judged(INA_ERR_AGGREGATOR, "all-reduce 5");
	/* The other ranks are still compared. */
	faults[2].current.count = 999;
	judged(INA_ERR_MISMATCH, "rank 2 called all-reduce 5 with 999 float32, rank 1 with 1000");
}

static void one_closes(void **state)
{
	(void)state;
	faults[2].previous = allreduce(4, 10, INA_INT32);
	faults[2].current = (struct ina_call){.kind = INA_CALL_CLOSE, .number = 4};
	judged(INA_ERR_MISMATCH, "rank 2 called ina_close after 4 calls, rank 0 all-reduce 5");
	/* A rank that closes after the call that fails elsewhere is no mismatch. */
	faults[2].previous = allreduce(5, 1000, INA_FLOAT32);
	faults[2].current.number = 5;
	judged(INA_ERR_AGGREGATOR, "all-reduce 5");
}

/* If a rank is late while others are in different calls, it is not among those that differ. */
static void one_is_late(void **state)
{
	(void)state;
	faults[1].status = INA_OK;
	for (int r = 0; r < RANKS - 1; r++) {
		faults[r].previous = faults[r].current;
		faults[r].current = allreduce(6, 77, INA_INT32);
	}
	faults[1].current = (struct ina_call){.kind = INA_CALL_CLOSE, .number = 5};
	judged(INA_ERR_MISMATCH, "rank 1 called ina_close after 5 calls, rank 0 all-reduce 6");
	faults[1].current = allreduce(6, 78, INA_INT32);
	judged(INA_ERR_MISMATCH, "rank 1 called all-reduce 6 with 78 int32, rank 0 with 77 int32");
	/* If the calls are equal, none is reported as different. */
	faults[1].current = faults[0].current;
	judged(INA_ERR_PEER, "no rank has seen");
}

/* The rank is in no call, and has finished `count` of them. */
static void is_outside(int rank, uint64_t count)
{
	faults[rank].current = (struct ina_call){.number = count};
	faults[rank].previous = (struct ina_call){.number = 0};
	if (count > 0)
		faults[rank].previous = allreduce(count, 10, INA_INT32);
}

/* The rank has made no call yet, or a different one before: it may still make the same call. */
static void one_has_yet_to_call(void **state)
{
	(void)state;
	faults[1].status = INA_ERR_MEMORY;
	strcpy(faults[1].text, "cannot register 36 bytes");
	is_outside(0, 4);
	judged(INA_ERR_MEMORY, "rank 1 in all-reduce 5: cannot register 36 bytes");
	assert_false(differ());
	/* The others are in their first call, which the rank has not made yet. */
	for (int r = 0; r < RANKS; r++) {
		faults[r].current = allreduce(1, 1000, INA_FLOAT32);
		faults[r].previous = (struct ina_call){.number = 0};
	}
	is_outside(0, 0);
	judged(INA_ERR_MEMORY, "rank 1 in all-reduce 1: cannot register 36 bytes");
	assert_false(differ());
	is_outside(2, 0);
	judged(INA_ERR_MEMORY, "rank 1 in all-reduce 1: cannot register 36 bytes");
	/* The ranks that have made the call are still compared. */
	faults[2].current = allreduce(1, 999, INA_FLOAT32);
	judged(INA_ERR_MISMATCH, "rank 2 called all-reduce 1 with 999 float32, rank 1 with 1000");
	assert_true(differ());
}

/* The rank has finished the call that the others are in. */
static void one_is_between_calls(void **state)
{
	(void)state;
	is_outside(0, 5);
	faults[0].previous = faults[1].current;
	judged(INA_ERR_AGGREGATOR, "rank 1 in all-reduce 5: ");
	faults[0].previous.count = 999;
	judged(INA_ERR_MISMATCH, "999");
}

/* The number is that of the call with the fault, not of the earliest unfinished call. */
static void the_fault_is_of_a_later_call(void **state)
{
	(void)state;
	faults[1].status = INA_ERR_DEVICE;
	faults[1].previous = faults[1].current;
	faults[1].current = allreduce(6, 77, INA_INT32);
	judged(INA_ERR_DEVICE, "rank 1 in all-reduce 6: ");
	for (int r = 0; r < RANKS; r++)
		is_outside(r, 5);
	judged(INA_ERR_DEVICE, "rank 1: the aggregator dropped out");
	faults[1].current = (struct ina_call){.kind = INA_CALL_CLOSE, .number = 5};
	judged(INA_ERR_DEVICE, "rank 1 in ina_close: ");
}

static void one_is_gone(void **state)
{
	(void)state;
	has_fault[2] = 0;
	gone[2] = 1;
	judged(INA_ERR_PEER, "rank 2 disconnected");
	has_fault[1] = 0;
	gone[1] = 1;
	judged(INA_ERR_PEER, "ranks 1 and 2 disconnected");
	/* A rank that reported before it ended has given its reason. */
	has_fault[1] = has_fault[2] = 1;
	judged(INA_ERR_AGGREGATOR, "all-reduce 5");
}

static void one_is_silent(void **state)
{
	(void)state;
	has_fault[2] = 0;
	judged(INA_ERR_AGGREGATOR, "message 17");
	faults[1].status = INA_ERR_TIMEOUT;
	strcpy(faults[1].text, "got no sum of message 17 of 20 in 300000 ms");
	judged(INA_ERR_TIMEOUT, "all-reduce 5 waits for rank 2: rank 1 got no sum of message 17");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(aggregator_lost, all_alike),
	        cmocka_unit_test_setup(counts_differ, all_alike),
	        cmocka_unit_test_setup(types_differ, all_alike),
	        cmocka_unit_test_setup(kinds_and_roots_differ, all_alike),
	        cmocka_unit_test_setup(one_is_ahead, all_alike),
	        cmocka_unit_test_setup(one_is_far_ahead, all_alike),
	        cmocka_unit_test_setup(one_closes, all_alike),
	        cmocka_unit_test_setup(one_is_late, all_alike),
	        cmocka_unit_test_setup(one_has_yet_to_call, all_alike),
	        cmocka_unit_test_setup(one_is_between_calls, all_alike),
	        cmocka_unit_test_setup(the_fault_is_of_a_later_call, all_alike),
	        cmocka_unit_test_setup(one_is_gone, all_alike),
	        cmocka_unit_test_setup(one_is_silent, all_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
