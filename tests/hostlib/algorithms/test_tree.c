/* SPDX-License-Identifier: Apache-2.0 */
/* Where ranks are, by docs/protocol.md, Several switches: trees worked out by hand, and random
 * ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/random.h"
#include "hostlib/algorithms/tree_draw.h"

#define RANKS 8

static struct ina_path paths[INA_MAX_RANKS];
static int order[INA_MAX_RANKS];
static struct ina_tree tree;

static int clear(void **state)
{
	(void)state;
	memset(paths, 0, sizeof(paths));
	return 0;
}

/* A rank's TRACE has passed this switch. */
static void met(int rank, unsigned int level, uint64_t id, uint32_t port)
{
	paths[rank].slots[level - 1] = (struct ina_wire_trace_slot){.id = id, .port = port};
}

static void expect_order(int ranks, const int *expected)
{
	for (int i = 0; i < ranks; i++)
		assert_int_equal(tree.order[i], expected[i]);
}

static uint32_t place(unsigned int turn, unsigned int size3, unsigned int size2, unsigned int size1)
{
	return turn << 24 | size3 << 16 | size2 << 8 | size1;
}

static void nobody_tells(void **state)
{
	(void)state;
	ina_tree_make(&tree, paths, order, RANKS);
	assert_int_equal(tree.verdict, INA_TREE_UNKNOWN);
	assert_true(ina_tree_keeps_order(&tree));
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(ina_tree_place(&tree, r), 0);
}

/* "0 if all ranks are at one switch", also at a switch of a higher level. */
static void one_switch(void **state)
{
	(void)state;
	for (unsigned int level = 1; level <= INA_WIRE_LEVELS; level++) {
		clear(state);
		for (int r = 0; r < RANKS; r++)
			met(r, level, 5, (uint32_t)(RANKS - r));
		ina_tree_make(&tree, paths, order, RANKS);
		assert_int_equal(tree.verdict, INA_TREE_SUMS);
		assert_int_equal(tree.top, level);
		assert_true(ina_tree_keeps_order(&tree));
		for (int r = 0; r < RANKS; r++)
			assert_int_equal(ina_tree_place(&tree, r), 0);
	}
}

static void two_ranks_at_one_port(void **state)
{
	(void)state;
	met(0, 1, 5, 0);
	met(1, 1, 5, 3);
	met(2, 1, 5, 3);
	ina_tree_make(&tree, paths, order, 3);
	assert_int_equal(tree.verdict, INA_TREE_PARTED);
	assert_non_null(strstr(tree.why, "ranks 1 and 2"));
}

/*
 * Ranks 0 and 3 at leaf A, 1 and 2 at leaf B, spine 9: only the connections from 0 to 1 and from 2
 * to 3 cross the spine.
 */
static void scattered(void)
{
	met(0, 1, 0xA, 0);
	met(0, 2, 9, 6);
	met(1, 1, 0xB, 0);
	met(2, 1, 0xB, 1);
	met(2, 2, 9, 7);
	met(3, 1, 0xA, 1);
	ina_tree_make(&tree, paths, order, 4);
}

static void two_leaves_scattered(void **state)
{
	(void)state;
	scattered();
	assert_int_equal(tree.verdict, INA_TREE_SUMS);
	assert_int_equal(tree.top, 2);
	assert_false(ina_tree_keeps_order(&tree));
	expect_order(4, (const int[]){0, 3, 1, 2});
	assert_int_equal(ina_tree_successor(&tree, 2), 0);
	assert_int_equal(ina_tree_predecessor(&tree, 1), 3);
	assert_int_equal(ina_tree_place(&tree, 0), place(1, 0, 2, 2));
	assert_int_equal(ina_tree_place(&tree, 3), place(2, 0, 2, 2));
	assert_int_equal(ina_tree_place(&tree, 1), place(1, 0, 2, 2));
	assert_int_equal(ina_tree_place(&tree, 2), place(2, 0, 2, 2));
}

/* Leaves with one rank each still make two levels. */
static void one_rank_a_leaf(void **state)
{
	(void)state;
	met(0, 1, 1, 0);
	met(0, 2, 9, 0);
	met(1, 1, 2, 0);
	met(1, 2, 9, 1);
	ina_tree_make(&tree, paths, order, 2);
	assert_int_equal(ina_tree_place(&tree, 0), place(2, 0, 2, 1));
	assert_int_equal(ina_tree_place(&tree, 1), place(2, 0, 2, 1));
}

/* Ranks 0 and 1 at a leaf, 2 directly at the spine, 3 and 4 at a leaf of another spine; core 7. */
static void three_levels_unlike(void **state)
{
	(void)state;
	met(0, 1, 1, 0);
	met(1, 1, 1, 1);
	met(1, 2, 5, 4);
	met(2, 2, 5, 0);
	met(2, 3, 7, 0);
	met(3, 1, 2, 0);
	met(4, 1, 2, 1);
	met(4, 2, 6, 0);
	met(4, 3, 7, 1);
	ina_tree_make(&tree, paths, order, 5);
	assert_int_equal(tree.verdict, INA_TREE_SUMS);
	assert_int_equal(tree.top, 3);
	assert_true(ina_tree_keeps_order(&tree));
	assert_int_equal(ina_tree_place(&tree, 0), place(1, 2, 2, 2));
	assert_int_equal(ina_tree_place(&tree, 1), place(2, 2, 2, 2));
	assert_int_equal(ina_tree_place(&tree, 2), place(3, 2, 2, 0));
	assert_int_equal(ina_tree_place(&tree, 3), place(1, 2, 1, 2));
	assert_int_equal(ina_tree_place(&tree, 4), place(3, 2, 1, 2));
}

static void expect_parted(int ranks, const char *why)
{
	ina_tree_make(&tree, paths, order, ranks);
	assert_int_equal(tree.verdict, INA_TREE_PARTED);
	if (!strstr(tree.why, why))
		fail_msg("\"%s\" does not say \"%s\"", tree.why, why);
	assert_true(ina_tree_keeps_order(&tree));
	for (int r = 0; r < ranks; r++)
		assert_int_equal(ina_tree_place(&tree, r), 0);
}

/* The leaf of ranks 2 and 3 has no aggregator: both reach the spine by one port. */
static void a_leaf_without_an_aggregator(void **state)
{
	(void)state;
	met(0, 1, 1, 0);
	met(1, 1, 1, 1);
	met(1, 2, 9, 0);
	met(3, 2, 9, 1);
	expect_parted(4, "no switch has an aggregator for rank 2");
	met(2, 2, 9, 1);
	expect_parted(4, "ranks 2 and 3 both reach switch 9 through its port 1");
}

/* Leaves A and B are under a switch without an aggregator, through which they reach the spine's
 * port 3. */
static void a_middle_without_an_aggregator(void **state)
{
	(void)state;
	for (int r = 0; r < 4; r++) {
		met(r, 1, r < 2 ? 0xA : 0xB, (uint32_t)r % 2);
		met(r, 3, 9, 3);
	}
	expect_parted(4, "ranks 0 and 2 both reach switch 9 through its port 3");
}

/* If a leaf has two ways up, which is no tree, all take the first rank's way. */
static void a_leaf_under_two_spines(void **state)
{
	(void)state;
	met(0, 1, 0xA, 0);
	met(0, 2, 8, 0);
	met(1, 1, 0xA, 1);
	met(1, 2, 9, 0);
	met(2, 1, 0xB, 0);
	met(2, 2, 8, 1);
	ina_tree_make(&tree, paths, order, 3);
	assert_int_equal(tree.verdict, INA_TREE_SUMS);
	assert_int_equal(ina_tree_place(&tree, 1), place(2, 0, 2, 2));
}

static void a_spine_without_an_aggregator(void **state)
{
	(void)state;
	for (int r = 0; r < 4; r++)
		met(r, 1, r < 2 ? 0xA : 0xB, (uint32_t)r % 2);
	expect_parted(4,
	              "no aggregator is above both switch a with rank 0 and switch b with rank 2");
}

static void a_trace_that_did_not_come(void **state)
{
	(void)state;
	for (int r = 0; r < 4; r++)
		met(r, 1, 5, (uint32_t)r);
	paths[2].lost = 1;
	ina_tree_make(&tree, paths, order, 4);
	assert_int_equal(tree.verdict, INA_TREE_LOST);
	assert_non_null(strstr(tree.why, "rank 2"));
}

static void drawn(void **state)
{
	static const char expected[] =
	        "switch 9, level 2, the top: sums 2 ports for all 4 ranks\n"
	        "    port 6: switch a, level 1: sums 2 ports, and sends the sum up as rank 3\n"
	        "        port 0: rank 0\n"
	        "        port 1: rank 3\n"
	        "    port 7: switch b, level 1: sums 2 ports, and sends the sum up as rank 2\n"
	        "        port 0: rank 1\n"
	        "        port 1: rank 2\n";
	char text[2 * sizeof(expected)];

	(void)state;
	scattered();
	assert_int_equal(ina_tree_draw(&tree, text, sizeof(text)), sizeof(expected) - 1);
	assert_string_equal(text, expected);
	assert_int_equal(ina_tree_draw(&tree, text, 10), sizeof(expected) - 1);
	assert_string_equal(text, "switch 9,");
	assert_int_equal(ina_tree_draw(&tree, NULL, 0), sizeof(expected) - 1);
}

static void drawn_in_parts(void **state)
{
	char text[1000];

	(void)state;
	met(0, 1, 1, 0);
	met(1, 1, 1, 1);
	ina_tree_make(&tree, paths, order, 3);
	ina_tree_draw(&tree, text, sizeof(text));
	assert_string_equal(text, "switch 1, level 1: sums nothing\n"
	                          "    port 0: rank 0\n"
	                          "    port 1: rank 1\n"
	                          "rank 2\n");
}

/* Random trees with random ranks, and the switches on the ways of the TRACEs to the next rank. */

static uint64_t seed = 20261123;
static struct ina_path whole[INA_MAX_RANKS];

static unsigned int below(unsigned int limit)
{
	return (unsigned int)(ina_random(&seed) % limit);
}

/* A core, spines and leaves. Hosts are connected to any of them, each at a separate port. */
static void draw_paths(int ranks)
{
	static const uint64_t core = 1;
	uint32_t next_port[INA_WIRE_LEVELS + 1][10] = {0};

	memset(whole, 0, sizeof(whole));
	for (int r = 0; r < ranks; r++) {
		unsigned int level = 1 + below(8) % INA_WIRE_LEVELS;
		unsigned int spine = below(3);
		unsigned int leaf = 3 * spine + below(3);
		struct ina_wire_trace_slot *slots = whole[r].slots;

		if (level == 1)
			slots[0] = (struct ina_wire_trace_slot){.id = 100 + leaf,
			                                        .port = 20 + next_port[1][leaf]++};
		if (level <= 2)
			slots[1] = (struct ina_wire_trace_slot){
			        .id = 10 + spine,
			        .port = level == 1 ? leaf : 20 + next_port[2][spine]++};
		slots[2] = (struct ina_wire_trace_slot){
		        .id = core, .port = level <= 2 ? spine : 20 + next_port[3][0]++};
	}
}

static unsigned int turn_of(int a, int b)
{
	unsigned int level = 1;

	while (whole[a].slots[level - 1].id == 0 ||
	       whole[a].slots[level - 1].id != whole[b].slots[level - 1].id)
		level++;
	return level;
}

/* The number of steps around the order that lead out of the subtree of a switch. */
static int leavings(int ranks, unsigned int level, uint64_t id)
{
	int count = 0;

	for (int p = 0; p < ranks; p++)
		count += whole[order[p]].slots[level - 1].id == id &&
		         whole[order[(p + 1) % ranks]].slots[level - 1].id != id;
	return count;
}

static unsigned int children_of(int ranks, int rank, unsigned int level)
{
	uint64_t id = whole[rank].slots[level - 1].id;
	uint32_t ports = 0;
	unsigned int count = 0;

	for (int r = 0; r < ranks && id != 0; r++)
		ports |= whole[r].slots[level - 1].id == id
		                 ? 1u << whole[r].slots[level - 1].port % 32
		                 : 0;
	for (; ports != 0; ports &= ports - 1)
		count++;
	return count;
}

static void check_drawn(int ranks)
{
	unsigned int top = 1;
	bool single = true;

	for (int r = 0; r < ranks; r++) {
		unsigned int turn = turn_of(r, (r + 1) % ranks);

		memcpy(paths[r].slots, whole[r].slots, turn * sizeof(paths[r].slots[0]));
		top = turn > top ? turn : top;
	}
	ina_tree_make(&tree, paths, order, ranks);
	assert_int_equal(tree.verdict, INA_TREE_SUMS);
	assert_int_equal(tree.top, top);
	for (int r = 0; r < ranks; r++) {
		assert_memory_equal(tree.paths[r].slots, whole[r].slots,
		                    top * sizeof(whole[r].slots[0]));
		for (unsigned int level = 1; level <= top; level++) {
			uint64_t id = whole[r].slots[level - 1].id;

			single &= level == top || id == 0;
			if (id != 0)
				assert_int_equal(leavings(ranks, level, id), level < top);
		}
	}
	for (int p = 0; p < ranks; p++) {
		int r = order[p];
		uint32_t expected = turn_of(r, order[(p + 1) % ranks]) << 24;

		for (unsigned int level = 1; level <= top; level++)
			expected |= children_of(ranks, r, level) << 8 * (level - 1);
		assert_int_equal(ina_tree_place(&tree, r), single ? 0 : expected);
	}
}

static void trees_at_random(void **state)
{
	for (int i = 0; i < 3000; i++) {
		int ranks = 2 + (int)below(11);

		clear(state);
		draw_paths(ranks);
		check_drawn(ranks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(nobody_tells, clear),
	        cmocka_unit_test_setup(one_switch, clear),
	        cmocka_unit_test_setup(two_ranks_at_one_port, clear),
	        cmocka_unit_test_setup(two_leaves_scattered, clear),
	        cmocka_unit_test_setup(one_rank_a_leaf, clear),
	        cmocka_unit_test_setup(three_levels_unlike, clear),
	        cmocka_unit_test_setup(a_leaf_without_an_aggregator, clear),
	        cmocka_unit_test_setup(a_middle_without_an_aggregator, clear),
	        cmocka_unit_test_setup(a_leaf_under_two_spines, clear),
	        cmocka_unit_test_setup(a_spine_without_an_aggregator, clear),
	        cmocka_unit_test_setup(a_trace_that_did_not_come, clear),
	        cmocka_unit_test_setup(drawn, clear),
	        cmocka_unit_test_setup(drawn_in_parts, clear),
	        cmocka_unit_test_setup(trees_at_random, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
