/* SPDX-License-Identifier: Apache-2.0 */
/* The reports of many ranks give the same result, in whatever order and however often they are
 * combined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "hostlib/control/votes.h"

#define RANKS 200

static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)seed * below >> 32);
}

static struct ina_call draw_call(void)
{
	uint16_t kind = draw(10) ? INA_CALL_ALLREDUCE : INA_CALL_CLOSE;

	return (struct ina_call){.number = 5 + draw(30),
	                         .count = kind == INA_CALL_CLOSE ? 0 : 1000 + draw(2),
	                         .kind = kind,
	                         .type = INA_FLOAT32,
	                         .op = INA_SUM};
}

static struct ina_faults draw_fault(int rank)
{
	static const enum ina_status seen[] = {INA_OK, INA_ERR_AGGREGATOR, INA_ERR_DEVICE};
	struct ina_fault fault = {.current = draw_call(),
	                          .previous = draw_call(),
	                          .status = seen[draw(3)],
	                          .message = draw(5),
	                          .sums = draw(20)};

	snprintf(fault.text, sizeof(fault.text), "rank %d's", rank);
	return ina_faults_of(0, rank, &fault);
}

static struct ina_votes draw_votes(int rank)
{
	static const enum ina_status status[] = {INA_OK, INA_ERR_PEER, INA_ERR_MEMORY};
	struct ina_votes votes = {.status = draw(20) ? INA_OK : status[draw(3)],
	                          .failed_rank = (uint32_t)rank};
	struct ina_value value = {.value = draw(8),
	                          .rank = votes.status == INA_OK ? (uint32_t)rank : UINT32_MAX};

	votes.least = votes.most = value;
	ina_ranks_add(&votes.voted, rank);
	votes.calls.count = 1;
	votes.calls.called[0] = (struct ina_called){.current = draw_call(), .rank = (uint32_t)rank};
	if (votes.status != INA_OK)
		snprintf(votes.text, sizeof(votes.text), "rank %d's", rank);
	return votes;
}

/* Two orders, one of them in pieces that overlap. */
static void faults_in_any_order(void **state)
{
	static struct ina_faults said[RANKS];

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct ina_faults one = {0};
		struct ina_faults other = {0};
		struct ina_faults pieces[3] = {{0}};

		for (int r = 0; r < RANKS; r++)
			said[r] = draw_fault(r);
		for (int r = 0; r < RANKS; r++) {
			ina_faults_merge(&one, &said[r]);
			ina_faults_merge(&pieces[draw(3)], &said[(RANKS - r) % RANKS]);
			ina_faults_merge(&pieces[draw(3)], &said[r]);
		}
		for (int p = 0; p < 3; p++)
			ina_faults_merge(&other, &pieces[p]);
		assert_memory_equal(&one, &other, sizeof(one));
		assert_false(ina_faults_merge(&one, &other));
		assert_int_equal(ina_ranks_count(&one.reported, RANKS), RANKS);
	}
}

static void votes_in_any_order(void **state)
{
	static const struct ina_votes none = {.least = {.rank = UINT32_MAX},
	                                      .most = {.rank = UINT32_MAX}};
	static struct ina_votes said[RANKS];

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct ina_votes one = none;
		struct ina_votes other = none;
		struct ina_votes pieces[3] = {none, none, none};

		for (int r = 0; r < RANKS; r++)
			said[r] = draw_votes(r);
		for (int r = 0; r < RANKS; r++) {
			ina_votes_merge(&one, &said[r]);
			ina_votes_merge(&pieces[draw(3)], &said[RANKS - 1 - r]);
			ina_votes_merge(&pieces[draw(3)], &said[r]);
		}
		for (int p = 0; p < 3; p++)
			ina_votes_merge(&other, &pieces[p]);
		assert_memory_equal(&one, &other, sizeof(one));
		assert_false(ina_votes_merge(&one, &other));
	}
}

/* Computed from the report of each rank; here by a search through all of them. */
static void what_counts_most(void **state)
{
	static struct ina_faults said[RANKS];
	struct ina_faults all = {0};
	uint64_t least = UINT64_MAX;
	uint64_t most = 0;
	uint64_t earliest = UINT64_MAX;

	(void)state;
	for (int r = 0; r < RANKS; r++) {
		said[r] = draw_fault(r);
		said[r].status = r == 77 ? INA_ERR_DEVICE : INA_ERR_AGGREGATOR;
		said[r].message = 10 - (r == 12);
		least = said[r].least_sums < least ? said[r].least_sums : least;
		most = said[r].most_sums > most ? said[r].most_sums : most;
		if (said[r].calls.called[0].current.kind == INA_CALL_ALLREDUCE &&
		    said[r].calls.called[0].current.number < earliest)
			earliest = said[r].calls.called[0].current.number;
		ina_faults_merge(&all, &said[r]);
	}
	assert_int_equal(all.status, INA_ERR_DEVICE);
	assert_string_equal(all.text, "rank 77's");
	assert_int_equal(all.least_sums, least);
	assert_int_equal(all.most_sums, most);
	assert_int_equal(said[all.owner].most_sums, most);
	assert_int_equal(all.calls.called[0].current.number, earliest);
	/* Among equal ones, the earlier message. */
	said[77].status = INA_ERR_AGGREGATOR;
	all = (struct ina_faults){0};
	for (int r = 0; r < RANKS; r++)
		ina_faults_merge(&all, &said[r]);
	assert_string_equal(all.text, "rank 12's");
}

static void many_are_listed_in_part(void **state)
{
	struct ina_ranks all = {{0}};
	struct ina_ranks set = {{0}};
	char text[200];

	(void)state;
	all = ina_ranks_others(&all, INA_MAX_RANKS);
	assert_int_equal(ina_ranks_list(text, sizeof(text), &all, INA_MAX_RANKS), INA_MAX_RANKS);
	assert_non_null(strstr(text, "ranks 0, 1, 2, "));
	assert_non_null(strstr(text, " and 1000 others"));
	ina_ranks_add(&set, 1023);
	assert_int_equal(ina_ranks_list(text, sizeof(text), &set, INA_MAX_RANKS), 1);
	assert_string_equal(text, "rank 1023");
	ina_ranks_add(&set, 63);
	ina_ranks_add(&set, 64);
	ina_ranks_list(text, sizeof(text), &set, INA_MAX_RANKS);
	assert_string_equal(text, "ranks 63, 64 and 1023");
	assert_true(ina_ranks_include(&all, &set));
	assert_false(ina_ranks_include(&set, &all));
	ina_ranks_remove(&all, 64);
	assert_false(ina_ranks_include(&all, &set));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(faults_in_any_order),
	        cmocka_unit_test(votes_in_any_order),
	        cmocka_unit_test(what_counts_most),
	        cmocka_unit_test(many_are_listed_in_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
