/* SPDX-License-Identifier: Apache-2.0 */
/* How rank 0 decides on the reports of all ranks, and how the others act on its answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "common/deadline.h"
#include "hostlib/recovery/fault_agreement.h"

#define RANKS   4
#define FOREVER (ina_now_ms() + 1000000)

static struct ina_control control;
static struct ina_fault_agreement agreement;
static struct ina_plan plan;
static struct ina_failure failure;

static struct ina_fault fault_in(uint64_t number, uint64_t count, uint64_t sums)
{
	return (struct ina_fault){.current = {.number = number,
	                                      .count = count,
	                                      .kind = INA_CALL_ALLREDUCE,
	                                      .type = INA_FLOAT32,
	                                      .op = INA_SUM},
	                          .previous = {.number = number - 1,
	                                       .count = 1000,
	                                       .kind = INA_CALL_ALLREDUCE,
	                                       .type = INA_FLOAT32,
	                                       .op = INA_SUM},
	                          .status = INA_ERR_AGGREGATOR,
	                          .text = "the aggregator dropped out",
	                          .sums = sums};
}

/* The reports of the other ranks, and which of them have reported. */
static struct ina_fault faults[RANKS];
static bool has_fault[RANKS];

/* Rank 0 of four; all are in all-reduce 5 with 17 sums. There is no link: all sent frames are
 * lost. */
static int rank_0(void **state)
{
	(void)state;
	ina_control_init(&control, 0, RANKS);
	for (int r = 1; r < RANKS; r++) {
		faults[r] = fault_in(5, 1000, 17);
		has_fault[r] = true;
	}
	agreement = (struct ina_fault_agreement){
	        .fault = fault_in(5, 1000, 17), .may_recover = true, .deadline_ms = FOREVER};
	memset(&plan, 0xFF, sizeof(plan));
	return 0;
}

static int rank_2_before(void **state)
{
	(void)state;
	ina_control_init(&control, 2, RANKS);
	agreement = (struct ina_fault_agreement){
	        .fault = fault_in(5, 1000, 17), .may_recover = true, .deadline_ms = FOREVER};
	return 0;
}

static int rank_2(void **state)
{
	rank_2_before(state);
	ina_fault_agreement_begin(&agreement, &control);
	return 0;
}

static int finish(void **state)
{
	(void)state;
	ina_control_close(&control);
	return 0;
}

static enum ina_fault_outcome poll_once(void)
{
	if (control.rank == 0 && !control.asked)
		ina_fault_agreement_begin(&agreement, &control);
	for (int r = RANKS - 1; r > 0 && control.rank == 0; r--) {
		struct ina_faults one = ina_faults_of(control.round, r, &faults[r]);

		if (has_fault[r])
			ina_control_take_faults(&control, &one);
	}
	return ina_fault_agreement_poll(&agreement, &control, &plan, &failure);
}

static void ended(enum ina_status status, const char *words)
{
	assert_int_equal(poll_once(), INA_FAULT_FATAL);
	assert_int_equal(failure.status, status);
	if (!strstr(failure.text, words))
		fail_msg("\"%s\" does not say \"%s\"", failure.text, words);
}

static void nobody_is_ahead(void **state)
{
	(void)state;
	assert_int_equal(poll_once(), INA_FAULT_RECOVERABLE);
	assert_int_equal(plan.from, 17);
	assert_int_equal(plan.until, 17);
}

/* Rank 3 has finished all-reduce 5 and is in 6, rank 1 is in ina_close(); rank 2 lacks most
 * sums. */
static void some_are_ahead(void **state)
{
	(void)state;
	faults[2].sums = 12;
	faults[3] = fault_in(6, 77, 20);
	faults[3].status = INA_OK;
	faults[1] = fault_in(6, 0, 19);
	faults[1].current = (struct ina_call){.kind = INA_CALL_CLOSE, .number = 5};
	assert_int_equal(poll_once(), INA_FAULT_RECOVERABLE);
	assert_int_equal(plan.from, 12);
	assert_int_equal(plan.until, 20);
	assert_int_equal(plan.owner, 3);
	/* The next fault begins anew. */
	assert_int_equal(ina_ranks_count(&control.faults.reported, RANKS), 0);
	assert_false(control.asked);
}

/* No rank is at fault: another job is to have the context from here on. */
static void who_gives_way_asks_nobody(void **state)
{
	(void)state;
	agreement.yields = true;
	agreement.ask_ms = FOREVER;
	ina_fault_agreement_begin(&agreement, &control);
	assert_int_equal(ina_fault_agreement_poll(&agreement, &control, &plan, &failure),
	                 INA_FAULT_PENDING);
	assert_false(control.asked);
	/* The others report without being asked. */
	for (int r = 1; r < RANKS; r++) {
		struct ina_faults one = ina_faults_of(control.round, r, &faults[r]);

		ina_control_take_faults(&control, &one);
	}
	assert_int_equal(ina_fault_agreement_poll(&agreement, &control, &plan, &failure),
	                 INA_FAULT_RECOVERABLE);
	assert_int_equal(plan.yields, 1);
}

/* If the aggregator has failed since, a rank that still waits for a sum never gets it. */
static void who_gives_way_asks_in_the_end(void **state)
{
	(void)state;
	agreement.yields = true;
	agreement.ask_ms = ina_now_ms() + 20;
	ina_fault_agreement_begin(&agreement, &control);
	assert_false(control.asked);
	usleep(30000);
	assert_int_equal(ina_fault_agreement_poll(&agreement, &control, &plan, &failure),
	                 INA_FAULT_PENDING);
	assert_true(control.asked);
}

static void a_late_rank_is_waited_for(void **state)
{
	(void)state;
	has_fault[2] = false;
	assert_int_equal(poll_once(), INA_FAULT_PENDING);
	agreement.deadline_ms = ina_now_ms();
	ended(INA_ERR_TIMEOUT, "rank 2 did not agree");
}

static void a_rank_is_gone(void **state)
{
	(void)state;
	has_fault[2] = false;
	ina_ranks_add(&control.gone, 2);
	has_fault[3] = false; /* rank 0 does not wait for it */
	ended(INA_ERR_PEER, "rank 2 disconnected");
}

static void a_rank_reports_and_goes(void **state)
{
	(void)state;
	ina_ranks_add(&control.gone, 3);
	ended(INA_ERR_PEER, "rank 3 disconnected");
}

/* It is no neighbour of rank 0, or rank 0 has not noticed yet: another rank has reported it. */
static void another_rank_has_lost_one(void **state)
{
	(void)state;
	has_fault[3] = false;
	faults[1].status = INA_OK;
	ina_ranks_add(&control.gone, 3);
	ended(INA_ERR_PEER, "rank 3 disconnected");
}

static void calls_differ(void **state)
{
	(void)state;
	faults[2].current.count = 999;
	ended(INA_ERR_MISMATCH, "rank 2");
}

static void something_worse(void **state)
{
	(void)state;
	faults[1].status = INA_ERR_DEVICE;
	faults[1].message = 0;
	strcpy(faults[1].text, "the ring connection failed");
	faults[2].message = 1;
	faults[3].message = 1;
	agreement.fault.message = 1;
	ended(INA_ERR_DEVICE, "rank 1 in all-reduce 5: the ring connection failed");
}

static void there_is_no_aggregator_to_lose(void **state)
{
	(void)state;
	agreement.may_recover = false;
	ended(INA_ERR_AGGREGATOR, "the aggregator dropped out");
}

static void the_plan_comes(void **state)
{
	(void)state;
	assert_int_equal(poll_once(), INA_FAULT_PENDING);
	control.has_plan = true;
	control.plan = (struct ina_plan){.from = 3, .until = 9, .owner = 1};
	assert_int_equal(poll_once(), INA_FAULT_RECOVERABLE);
	assert_int_equal(plan.until, 9);
	assert_false(control.has_plan);
}

static void the_diagnosis_comes(void **state)
{
	(void)state;
	control.has_diagnosis = true;
	control.diagnosis.status = INA_ERR_PEER;
	strcpy(control.diagnosis.text, "rank 1 disconnected");
	ended(INA_ERR_PEER, "rank 1 disconnected");
}

static void rank_0_is_gone(void **state)
{
	(void)state;
	ina_ranks_add(&control.gone, 0);
	ended(INA_ERR_PEER, "rank 0 disconnected");
}

/* Rank 0 had all sums, and in ina_close() it found that another rank has died. */
static void rank_0_went_for_a_reason(void **state)
{
	(void)state;
	ina_ranks_add(&control.left, 0);
	ina_fail(&control.heard, INA_ERR_PEER, "rank 3 disconnected");
	ended(INA_ERR_PEER, "rank 3 disconnected");
}

/* As long as rank 0 may know the cause, it is asked; then this rank ends alone. */
static void rank_0_is_away(void **state)
{
	(void)state;
	ina_ranks_add(&control.gone, 3);
	assert_int_equal(poll_once(), INA_FAULT_PENDING);
	assert_in_range(ina_fault_agreement_tick(&agreement, 1000), 1, 200);
	usleep(400000);
	ended(INA_ERR_PEER, "rank 3 disconnected");
}

static void rank_0_knows_better(void **state)
{
	(void)state;
	ina_ranks_add(&control.gone, 3);
	assert_int_equal(poll_once(), INA_FAULT_PENDING);
	the_diagnosis_comes(state);
}

/* Rank 1 has given its reason and ended; that does not count as the death of rank 1. */
static void a_reason_is_heard(void **state)
{
	(void)state;
	ina_ranks_add(&control.left, 1);
	ina_fail(&control.heard, INA_ERR_PEER, "rank 3 disconnected");
	assert_int_equal(poll_once(), INA_FAULT_PENDING);
	usleep(400000);
	ended(INA_ERR_PEER, "rank 3 disconnected");
}

static void rank_0_does_not_answer(void **state)
{
	(void)state;
	agreement.deadline_ms = ina_now_ms() - 100000;
	ended(INA_ERR_AGGREGATOR, "rank 0 did not answer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(nobody_is_ahead, rank_0, finish),
	        cmocka_unit_test_setup_teardown(some_are_ahead, rank_0, finish),
	        cmocka_unit_test_setup_teardown(who_gives_way_asks_nobody, rank_0, finish),
	        cmocka_unit_test_setup_teardown(who_gives_way_asks_in_the_end, rank_0, finish),
	        cmocka_unit_test_setup_teardown(who_gives_way_asks_in_the_end, rank_2_before,
	                                        finish),
	        cmocka_unit_test_setup_teardown(a_late_rank_is_waited_for, rank_0, finish),
	        cmocka_unit_test_setup_teardown(a_rank_is_gone, rank_0, finish),
	        cmocka_unit_test_setup_teardown(a_rank_reports_and_goes, rank_0, finish),
	        cmocka_unit_test_setup_teardown(another_rank_has_lost_one, rank_0, finish),
	        cmocka_unit_test_setup_teardown(calls_differ, rank_0, finish),
	        cmocka_unit_test_setup_teardown(something_worse, rank_0, finish),
	        cmocka_unit_test_setup_teardown(there_is_no_aggregator_to_lose, rank_0, finish),
	        cmocka_unit_test_setup_teardown(the_plan_comes, rank_2, finish),
	        cmocka_unit_test_setup_teardown(the_diagnosis_comes, rank_2, finish),
	        cmocka_unit_test_setup_teardown(rank_0_is_gone, rank_2, finish),
	        cmocka_unit_test_setup_teardown(rank_0_went_for_a_reason, rank_2, finish),
	        cmocka_unit_test_setup_teardown(rank_0_is_away, rank_2, finish),
	        cmocka_unit_test_setup_teardown(rank_0_knows_better, rank_2, finish),
	        cmocka_unit_test_setup_teardown(a_reason_is_heard, rank_2, finish),
	        cmocka_unit_test_setup_teardown(rank_0_does_not_answer, rank_2, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
