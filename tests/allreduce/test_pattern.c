/* SPDX-License-Identifier: Apache-2.0 */
/* The checker of sums: sums in any order pass, and each wrong bit is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "pattern.h"

#define COUNT 1000
#define RANKS 64

static uint32_t data[RANKS][COUNT];
static uint32_t sum[COUNT];

static void fill(enum ina_type type, uint64_t seed, int ranks)
{
	for (int r = 0; r < ranks; r++)
		pattern_fill(data[r], COUNT, type, seed, r);
}

static void add(enum ina_type type, int rank)
{
	for (size_t i = 0; i < COUNT; i++) {
		float a;
		float b;

		if (type == INA_INT32) {
			sum[i] += data[rank][i];
			continue;
		}
		memcpy(&a, &sum[i], sizeof(a));
		memcpy(&b, &data[rank][i], sizeof(b));
		a += b;
		memcpy(&sum[i], &a, sizeof(a));
	}
}

static void any_order(void **state)
{
	static const enum ina_type types[] = {INA_INT32, INA_FLOAT32};
	size_t first;

	(void)state;
	for (size_t t = 0; t < 2; t++) {
		for (int ranks = 1; ranks <= RANKS; ranks *= 4) {
			fill(types[t], 42, ranks);
			memset(sum, 0, sizeof(sum));
			for (int r = 0; r < ranks; r++)
				add(types[t], r);
			assert_int_equal(pattern_check(sum, COUNT, types[t], 42, ranks, &first), 0);
			memset(sum, 0, sizeof(sum));
			for (int r = ranks - 1; r >= 0; r--)
				add(types[t], r);
			assert_int_equal(pattern_check(sum, COUNT, types[t], 42, ranks, &first), 0);
		}
	}
}

static void every_bit_counts(void **state)
{
	size_t first = COUNT;

	(void)state;
	fill(INA_FLOAT32, 1, 1);
	for (uint32_t bit = 0; bit < 32; bit++) {
		memcpy(sum, data[0], sizeof(sum));
		sum[17 + bit] ^= 1u << bit;
		assert_int_equal(pattern_check(sum, COUNT, INA_FLOAT32, 1, 1, &first), 1);
		assert_int_equal(first, 17 + bit);
	}
}

/* Data of another seed, of another rank, of one rank too few, or shifted, do not pass. */
static void others_fail(void **state)
{
	size_t first;

	(void)state;
	for (int t = INA_INT32; t <= INA_FLOAT32; t++) {
		enum ina_type type = (enum ina_type)t;

		fill(type, 1, 2);
		assert_true(pattern_check(data[0], COUNT, type, 2, 1, &first) > COUNT * 9 / 10);
		assert_true(pattern_check(data[1], COUNT, type, 1, 1, &first) > COUNT * 9 / 10);
		assert_true(pattern_check(data[0], COUNT, type, 1, 2, &first) > COUNT * 9 / 10);
		assert_true(pattern_check(data[0] + 1, COUNT - 1, type, 1, 1, &first) >
		            COUNT * 8 / 10);
	}
}

/* Negative and positive, and all magnitudes. */
static void signs(void **state)
{
	size_t negative = 0;

	(void)state;
	fill(INA_INT32, 3, 1);
	for (size_t i = 0; i < COUNT; i++)
		negative += data[0][i] >> 31;
	assert_true(negative > COUNT / 3 && negative < COUNT * 2 / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(any_order),
	        cmocka_unit_test(every_bit_counts),
	        cmocka_unit_test(others_fail),
	        cmocka_unit_test(signs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
