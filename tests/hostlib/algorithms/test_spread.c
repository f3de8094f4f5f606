/* SPDX-License-Identifier: Apache-2.0 */
/* Which tree a job takes, by docs/protocol.md, Trees: networks of several spines, worked out by
 * hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hostlib/algorithms/spread.h"

#define RANKS    4
#define WAYS_MAX 16

static struct ina_path paths[RANKS];
static int order[RANKS];
static struct ina_tree tree;

/* A network of two leaves with two ranks each and several spines, one for each way; and the number
 * of jobs on each spine. */
static unsigned int ways;
static unsigned int jobs[WAYS_MAX];
static unsigned int leaf_jobs;
static unsigned int looks; /* how often all ranks have sent TRACEs */

static void meet(int rank, unsigned int level, uint64_t id, uint32_t port, uint32_t count)
{
	paths[rank].slots[level - 1] =
	        (struct ina_wire_trace_slot){.id = id, .port = port, .jobs = count};
}

/* "with that many paths tree t takes path t mod w": ranks 1 and 3 send to the other leaf. */
static void trace(unsigned int number)
{
	unsigned int way = number % ways;

	memset(paths, 0, sizeof(paths));
	for (int r = 0; r < RANKS; r++)
		meet(r, 1, r < 2 ? 1 : 2, (uint32_t)r % 2, leaf_jobs);
	for (int r = 1; r < RANKS; r += 2)
		meet(r, 2, 10 + way, (uint32_t)r / 2, jobs[way]);
	ina_tree_make(&tree, paths, order, RANKS);
	assert_int_equal(tree.verdict, INA_TREE_SUMS);
	looks++;
}

static struct ina_spread spread;

/* Runs a job's TRACEs as it looks for a tree from number `at` on, and returns the tree that it
 * takes. */
static unsigned int choose(unsigned int at)
{
	unsigned int next;

	spread = (struct ina_spread){0};
	looks = 0;
	trace(at);
	while (ina_spread_look(&spread, at, &tree, &next)) {
		assert_in_range(next, 0, INA_WIRE_TREES - 1);
		assert_int_not_equal(next, at);
		at = next;
		trace(at);
	}
	return at;
}

static void serve(unsigned int count, const unsigned int *jobs_of_ways)
{
	ways = count;
	memcpy(jobs, jobs_of_ways, count * sizeof(*jobs));
}

#define SERVE(...)                                                                                 \
	serve(sizeof((unsigned int[]){__VA_ARGS__}) / sizeof(unsigned int),                        \
	      (unsigned int[]){__VA_ARGS__})

static void a_tree_without_jobs_is_taken_at_once(void **state)
{
	(void)state;
	leaf_jobs = 3;
	SERVE(0, 0);
	assert_int_equal(choose(0), 0);
	assert_int_equal(looks, 1);
	SERVE(1, 0, 0, 0);
	assert_int_equal(choose(0), 1);
	assert_int_equal(looks, 2);
	SERVE(1, 2, 1, 0);
	assert_int_equal(choose(0), 3);
	assert_int_equal(looks, 4);
}

static void else_the_one_that_serves_fewest(void **state)
{
	(void)state;
	leaf_jobs = 9;
	SERVE(3, 2);
	assert_int_equal(choose(0) % ways, 1);
	assert_int_equal(looks, 4); /* it meets the switches of the first tree again, and the best
	                             * tree is */
	SERVE(2, 3);
	assert_int_equal(choose(0) % ways, 0);
	assert_int_equal(looks, 3);
	SERVE(2, 2);
	assert_int_equal(choose(0) % ways, 0);
	SERVE(5, 4, 6, 4);
	assert_int_equal(choose(0) % ways, 1);
	SERVE(5, 4, 6, 3);
	assert_int_equal(choose(63) % ways, 3);
}

/* A network may have more trees than a job looks at. */
static void looks_are_bounded(void **state)
{
	(void)state;
	SERVE(5, 5, 5, 5, 5, 2, 5, 5, 5, 5, 5, 0);
	assert_int_equal(choose(0), 5);
	assert_int_equal(looks, INA_SPREAD_LOOKS + 1);
}

static void one_way_is_soon_known(void **state)
{
	(void)state;
	SERVE(7);
	choose(0);
	assert_int_equal(looks, 2);
	assert_int_equal(ina_spread_further(&spread, &tree, 9), 0);
	SERVE(7, 7);
	choose(0);
	assert_int_equal(ina_spread_further(&spread, &tree, 9), 2);
}

/* There is no choice: one switch, or no tree. */
static void without_other_trees(void **state)
{
	unsigned int next;

	(void)state;
	spread = (struct ina_spread){0};
	memset(paths, 0, sizeof(paths));
	for (int r = 0; r < RANKS; r++)
		meet(r, 1, 1, (uint32_t)r, 5);
	ina_tree_make(&tree, paths, order, RANKS);
	assert_false(ina_spread_look(&spread, 0, &tree, &next));
	assert_int_equal(ina_spread_further(&spread, &tree, 7), 0);

	spread = (struct ina_spread){0};
	memset(paths, 0, sizeof(paths));
	ina_tree_make(&tree, paths, order, RANKS);
	assert_false(ina_spread_look(&spread, 0, &tree, &next));
	assert_int_equal(ina_spread_further(&spread, &tree, 7), 0);
}

/* A switch on another tree has no aggregator: the job does not use that tree. */
static void a_tree_that_does_not_sum(void **state)
{
	unsigned int next;

	(void)state;
	spread = (struct ina_spread){0};
	SERVE(1, 0);
	trace(0);
	assert_true(ina_spread_look(&spread, 0, &tree, &next));
	assert_int_equal(next, 1);
	memset(paths, 0, sizeof(paths));
	for (int r = 0; r < RANKS; r++)
		meet(r, 1, r < 2 ? 1 : 2, (uint32_t)r % 2, leaf_jobs);
	ina_tree_make(&tree, paths, order, RANKS);
	assert_int_equal(tree.verdict, INA_TREE_PARTED);
	assert_true(ina_spread_look(&spread, 1, &tree, &next));
	assert_int_equal(next, 2); /* way 0 once more */
	trace(2);
	assert_false(ina_spread_look(&spread, 2, &tree, &next));
}

/*
 * Two ways over levels 2 and 3: the numbers of jobs at the left, the right and the core switch.
 * `common`: both ways use the same switches of level 2.
 */
static void expect_second(const uint32_t (*jobs_of)[3], bool common)
{
	unsigned int next = 0;

	spread = (struct ina_spread){0};
	for (unsigned int look = 0; look < 3; look++) {
		const unsigned int way = look % 2;

		assert_int_equal(next, look);
		memset(paths, 0, sizeof(paths));
		for (int r = 0; r < RANKS; r++) {
			const bool left = r < 2;

			meet(r, 1, 1 + (uint64_t)r, 0, 9);
			meet(r, 2, (left ? 10 : 20) + (common ? 0 : way), (uint32_t)r % 2,
			     jobs_of[way][left ? 0 : 1]);
			if (r % 2 == 1)
				meet(r, 3, 30 + way, left ? 0 : 1, jobs_of[way][2]);
		}
		ina_tree_make(&tree, paths, order, RANKS);
		assert_int_equal(tree.verdict, INA_TREE_SUMS);
		assert_int_equal(tree.top, 3);
		assert_true(ina_spread_look(&spread, look, &tree, &next));
	}
	assert_int_equal(next, 1);
}

static void the_most_of_a_switch_counts_first(void **state)
{
	(void)state;
	expect_second((const uint32_t[2][3]){{2, 0, 0}, {1, 1, 1}}, false);
}

static void what_trees_have_in_common_decides_nothing(void **state)
{
	(void)state;
	expect_second((const uint32_t[2][3]){{3, 1, 3}, {3, 1, 2}}, true);
}

/* Jobs that come at the same time see the same load; their JOINs distinguish them. */
static void jobs_that_come_together(void **state)
{
	(void)state;
	for (unsigned int count = 2; count <= 4; count++) {
		unsigned int taken[WAYS_MAX] = {0};

		ways = count;
		memset(jobs, 0, sizeof(jobs));
		jobs[0] = 2;
		spread = (struct ina_spread){0};
		trace(0);
		for (unsigned int before = 2; before < 2 + 2 * count; before++)
			taken[ina_spread_further(&spread, &tree, before) % ways]++;
		for (unsigned int way = 0; way < ways; way++)
			assert_int_equal(taken[way], 2);
		/* Other jobs have left in between. */
		assert_int_equal(ina_spread_further(&spread, &tree, 0), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_tree_without_jobs_is_taken_at_once),
	        cmocka_unit_test(else_the_one_that_serves_fewest),
	        cmocka_unit_test(looks_are_bounded),
	        cmocka_unit_test(one_way_is_soon_known),
	        cmocka_unit_test(without_other_trees),
	        cmocka_unit_test(a_tree_that_does_not_sum),
	        cmocka_unit_test(the_most_of_a_switch_counts_first),
	        cmocka_unit_test(what_trees_have_in_common_decides_nothing),
	        cmocka_unit_test(jobs_that_come_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
