/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the host: hand-worked edges, and random ones against wider arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce.h"

#define COUNT_MAX 100

static void int32_edges(void **state)
{
	const int32_t a[] = {1, -1, INT32_MAX, INT32_MIN, INT32_MAX, 0};
	const int32_t b[] = {2, 1, 0, 0, INT32_MIN, -7};
	const int32_t sums[] = {3, 0, INT32_MAX, INT32_MIN, -1, -7};
	int32_t result[6];

	(void)state;
	assert_false(ina_reduce(result, a, b, 6, INA_INT32));
	assert_memory_equal(result, sums, sizeof(sums));
}

static void int32_overflows(void **state)
{
	const int32_t pairs[][3] = {
	        {INT32_MAX, 1, INT32_MIN},
	        {INT32_MIN, -1, INT32_MAX},
	        {INT32_MIN, INT32_MIN, 0},
	        {INT32_MAX, INT32_MAX, -2},
	};

	(void)state;
	for (size_t p = 0; p < sizeof(pairs) / sizeof(pairs[0]); p++) {
		for (size_t at = 0; at < 20; at++) {
			int32_t a[20] = {0};
			int32_t b[20] = {0};
			int32_t result[20];

			a[at] = pairs[p][0];
			b[at] = pairs[p][1];
			assert_true(ina_reduce(result, a, b, 20, INA_INT32));
			assert_int_equal(result[at], pairs[p][2]);
		}
	}
}

static void int32_random(void **state)
{
	(void)state;
	for (int round = 0; round < 1000; round++) {
		int32_t a[COUNT_MAX];
		int32_t b[COUNT_MAX];
		int32_t result[COUNT_MAX];
		size_t count = (size_t)(random() % COUNT_MAX);
		bool overflow = false;

		for (size_t i = 0; i < count; i++) {
			a[i] = (int32_t)((uint32_t)random() << 1) >> (random() % 8);
			b[i] = (int32_t)((uint32_t)random() << 1) >> (random() % 8);
			int64_t wide = (int64_t)a[i] + b[i];

			overflow |= wide > INT32_MAX || wide < INT32_MIN;
		}
		assert_int_equal(ina_reduce(result, a, b, count, INA_INT32), overflow);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(result[i], (int32_t)(uint32_t)((int64_t)a[i] + b[i]));
		/* In place. */
		ina_reduce(b, a, b, count, INA_INT32);
		assert_memory_equal(b, result, count * sizeof(*b));
	}
}

/* The bits of IEEE 754 binary32, worked by hand. */
static void float32_edges(void **state)
{
	const uint32_t rows[][3] = {
	        {0x3F800000, 0x40000000, 0x40400000}, /* 1 + 2 = 3 */
	        {0x80000000, 0x80000000, 0x80000000}, /* -0 + -0 = -0 */
	        {0x80000000, 0x00000000, 0x00000000}, /* -0 + 0 = 0 */
	        {0x00000001, 0x00000001, 0x00000002}, /* subnormals stay */
	        {0x3F800000, 0x33800000, 0x3F800000}, /* 1 + 2^-24: a tie, to even */
	        {0x3F800001, 0x33800000, 0x3F800002}, /* a tie, to even, upwards */
	        {0x7F7FFFFF, 0x7F7FFFFF, 0x7F800000}, /* overflow to infinity */
	};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		float result;
		uint32_t bits;

		assert_false(ina_reduce(&result, &rows[r][0], &rows[r][1], 1, INA_FLOAT32));
		memcpy(&bits, &result, sizeof(bits));
		assert_int_equal(bits, rows[r][2]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(int32_edges),
	        cmocka_unit_test(int32_overflows),
	        cmocka_unit_test(int32_random),
	        cmocka_unit_test(float32_edges),
	};
	const char *given = getenv("INA_SEED");
	unsigned int seed = given ? (unsigned int)strtoul(given, NULL, 0) : 1;

	printf("INA_SEED=%u\n", seed);
	srandom(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
