/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks are connected: few, but all learn of everything, whichever other ranks have ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include "hostlib/control/neighbours.h"

static const int SIZES[] = {1,  2,  3,  4,  5,  6,   7,   8,   9,    12,   16,
                            17, 31, 63, 64, 65, 100, 255, 256, 1000, 1023, 1024};

#define EACH_SIZE(i) (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++)

static int lists[INA_MAX_RANKS][INA_NEIGHBOURS_MAX];
static int counts[INA_MAX_RANKS];

static void list_all(int ranks)
{
	for (int r = 0; r < ranks; r++)
		counts[r] = ina_neighbours(r, ranks, lists[r]);
}

static bool is_listed(int a, int b)
{
	for (int i = 0; i < counts[a]; i++) {
		if (lists[a][i] == b)
			return true;
	}
	return false;
}

/* The smallest k with 2^k >= ranks. */
static int log2_of(int ranks)
{
	int k = 0;

	while (1 << k < ranks)
		k++;
	return k;
}

static void twice_the_logarithm_and_eight(void **state)
{
	(void)state;
	for
		EACH_SIZE(s)
		{
			int ranks = SIZES[s];

			list_all(ranks);
			for (int r = 0; r < ranks; r++) {
				assert_true(counts[r] <= 2 * log2_of(ranks) + 8);
				assert_true(counts[r] <= INA_NEIGHBOURS_MAX);
				for (int i = 0; i < counts[r]; i++) {
					assert_in_range(lists[r][i], 0, ranks - 1);
					assert_int_not_equal(lists[r][i], r);
					assert_true(i == 0 || lists[r][i] > lists[r][i - 1]);
					assert_true(is_listed(lists[r][i], r));
				}
			}
		}
	list_all(1024);
	for (int r = 0; r < 1024; r++)
		assert_int_equal(counts[r], 27);
}

static void few_are_all_neighbours(void **state)
{
	(void)state;
	for (int ranks = 1; ranks <= 17; ranks++) {
		list_all(ranks);
		for (int r = 0; r < ranks; r++)
			assert_int_equal(counts[r], ranks - 1);
	}
}

/* The number of ranks that learn of it, and the number of steps, if the ranks in `gone` pass
 * nothing on. */
static int flood(int from, const bool *gone, int *steps)
{
	static int heard[INA_MAX_RANKS];
	static int queue[INA_MAX_RANKS];
	int first = 0;
	int last = 0;

	memset(heard, -1, sizeof(heard));
	heard[from] = 0;
	queue[last++] = from;
	*steps = 0;
	while (first < last) {
		int r = queue[first++];

		*steps = heard[r];
		for (int i = 0; i < counts[r]; i++) {
			int other = lists[r][i];

			if (gone[other] || heard[other] >= 0)
				continue;
			heard[other] = heard[r] + 1;
			queue[last++] = other;
		}
	}
	return last;
}

static void all_hear_soon(void **state)
{
	static const bool nobody[INA_MAX_RANKS];
	int steps;

	(void)state;
	for
		EACH_SIZE(s)
		{
			list_all(SIZES[s]);
			assert_int_equal(flood(SIZES[s] / 3, nobody, &steps), SIZES[s]);
			assert_true(steps <= log2_of(SIZES[s]));
		}
	list_all(1024);
	flood(0, nobody, &steps);
	assert_int_equal(steps, 4);
}

static uint32_t draw(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)*state * below >> 32);
}

/* Fewer ranks than each rank has neighbours, wherever they are; and whole machines and racks with
 * many more.
 */
static void who_is_left_hears_all_the_same(void **state)
{
	uint32_t seed = 1;
	int steps;

	(void)state;
	list_all(1024);
	for (int i = 0; i < 2000; i++) {
		bool gone[INA_MAX_RANKS] = {false};
		int victim = (int)draw(&seed, 1024);
		int left = 1024;

		/* Most of them are around one rank, which they may cut off. */
		for (int k = 0; k < 26; k++) {
			int r = draw(&seed, 4) ? lists[victim][draw(&seed, 27)]
			                       : (int)draw(&seed, 1024);

			left -= r != victim && !gone[r];
			gone[r] = gone[r] || r != victim;
		}
		assert_int_equal(flood(victim, gone, &steps), left);
	}
	for (int size = 16; size <= 512; size *= 2) {
		for (int start = 0; start < 1024; start += size) {
			bool gone[INA_MAX_RANKS] = {false};

			for (int r = start; r < start + size; r++)
				gone[r] = true;
			assert_int_equal(flood((start + size) % 1024, gone, &steps), 1024 - size);
		}
	}
}

/* The tree's connections exist, its subtrees are ranges, and it is no deeper than log2 n. */
static void the_tree(void **state)
{
	(void)state;
	for
		EACH_SIZE(s)
		{
			int ranks = SIZES[s];

			list_all(ranks);
			assert_int_equal(ina_subtree_end(0, ranks), ranks);
			for (int r = 1; r < ranks; r++) {
				int depth = 0;

				assert_true(is_listed(r, ina_parent(r)));
				assert_true(ina_is_child(r, ina_parent(r)));
				assert_true(ina_subtree_end(r, ranks) <=
				            ina_subtree_end(ina_parent(r), ranks));
				for (int up = r; up > 0; up = ina_parent(up)) {
					assert_true(up <= r && r < ina_subtree_end(up, ranks));
					depth++;
				}
				assert_true(depth <= log2_of(ranks));
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(twice_the_logarithm_and_eight),
	        cmocka_unit_test(few_are_all_neighbours),
	        cmocka_unit_test(all_hear_soon),
	        cmocka_unit_test(who_is_left_hears_all_the_same),
	        cmocka_unit_test(the_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
