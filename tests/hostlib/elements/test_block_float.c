/* SPDX-License-Identifier: Apache-2.0 */
/* Block floating point against arithmetic in double, which is exact here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <pmmintrin.h>
#endif

#include "hostlib/elements/block_float.h"

#define COUNT 61

static void exponents(void **state)
{
	static const struct {
		float value;
		int32_t exponent;
	} rows[] = {
	        {1.0f, 1},
	        {0.99f, 0},
	        {-2.0f, 2},
	        {0x1.fffffep127f, 128},
	        {0, -126},
	        {0x1p-149f, -126},
	        {0x1p-126f, -125},
	        {-0x1p-127f, -126},
	        {INFINITY, INA_BLOCK_FLOAT_NONE},
	        {NAN, INA_BLOCK_FLOAT_NONE},
	};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		for (size_t at = 0; at < 9; at++) {
			float block[9] = {0};

			block[at] = rows[r].value;
			assert_int_equal(ina_block_float_exponent(block, 9), rows[r].exponent);
		}
	}
	assert_int_equal(ina_block_float_exponent(NULL, 0), -126);
}

static float any_float(int exponent)
{
	double fraction = (double)(random() - (1l << 30)) / (double)(1l << 30);

	return (float)ldexp(fraction, exponent - (int)(random() % 40) * (int)(random() % 2));
}

static int log2_up(int ranks)
{
	int bits = 0;

	while (1 << bits < ranks)
		bits++;
	return bits;
}

/* Each integer is the number in units, rounded to nearest, ties to even, by nearbyint(). */
static void quantizes(void **state)
{
	(void)state;
	for (int round = 0; round < 20000; round++) {
		int ranks = 2 + (int)(random() % 63);
		uint8_t block[4 * COUNT + 1];
		uint8_t integers[4 * COUNT + 3];
		int32_t exponent;
		int32_t larger;

		for (int i = 0; i < COUNT; i++) {
			float value = any_float((int)(round % 277) - 149);

			memcpy(block + 1 + 4 * i, &value, 4);
		}
		exponent = ina_block_float_exponent(block + 1, COUNT);
		larger = exponent + (int32_t)(random() % 4);
		if (larger > 128)
			larger = 128;
		ina_block_float_quantize(integers + 3, block + 1, COUNT, larger, ranks);
		for (int i = 0; i < COUNT; i++) {
			float value;
			int32_t integer;
			double wanted;

			memcpy(&value, block + 1 + 4 * i, 4);
			memcpy(&integer, integers + 3 + 4 * i, 4);
			wanted = nearbyint(ldexp((double)value, 30 - log2_up(ranks) - larger));
			if ((double)integer != wanted)
				fail_msg("%a of 2^%d, %d ranks: %d, not %f", (double)value, larger,
				         ranks, integer, wanted);
			assert_true(fabs(wanted) * ranks <= 0x1p30);
		}
	}
}

/* A sum of ranks keeps the bound of docs/protocol.md. */
static void keeps_the_bound(void **state)
{
	(void)state;
	for (int round = 0; round < 3000; round++) {
		int ranks = 2 + (int)(random() % 63);
		double exact[COUNT] = {0};
		int32_t sums[COUNT] = {0};
		static float blocks[64][COUNT];
		int32_t exponent = INT32_MIN;

		for (int r = 0; r < ranks; r++) {
			int32_t own;

			for (int i = 0; i < COUNT; i++) {
				blocks[r][i] = any_float((int)(round % 270) - 149);
				exact[i] += (double)blocks[r][i];
			}
			own = ina_block_float_exponent(blocks[r], COUNT);
			exponent = own > exponent ? own : exponent;
		}
		for (int r = 0; r < ranks; r++) {
			int32_t integers[COUNT];

			ina_block_float_quantize(integers, blocks[r], COUNT, exponent, ranks);
			for (int i = 0; i < COUNT; i++)
				assert_false(
				        __builtin_sadd_overflow(sums[i], integers[i], &sums[i]));
		}
		ina_block_float_restore(sums, COUNT, exponent, ranks);
		for (int i = 0; i < COUNT; i++) {
			float sum;
			double bound;

			memcpy(&sum, &sums[i], sizeof(sum));
			bound = ranks * ldexp(1, exponent + log2_up(ranks) - 31) +
			        fabs((double)sum) * 0x1p-24 + 0x1p-150;
			if (fabs((double)sum - exact[i]) > bound)
				fail_msg("%d ranks, 2^%d: %a is farther from %a than %a", ranks,
				         exponent, (double)sum, exact[i], bound);
		}
	}
}

#if defined(__SSE2__)
static void the_callers_rounding_is_put_aside(void **state)
{
	/* Exponent -126, one rank: the unit is 2^-156, and the smallest float is 2^7 units. */
	const float elements[] = {0x1p-149f, -0x1p-127f, 0x1.8p-148f};
	const unsigned int callers = _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON | _MM_ROUND_UP;
	const int32_t integers[] = {1 << 7, -(1 << 29), 3 << 7};
	int32_t sent[3];
	unsigned int before = _mm_getcsr();
	unsigned int after;

	(void)state;
	_mm_setcsr(callers);
	ina_block_float_quantize(sent, elements, 3, -126, 1);
	after = _mm_getcsr();
	_mm_setcsr(before);
	assert_int_equal(after, callers);
	assert_memory_equal(sent, integers, sizeof(sent));
	_mm_setcsr(callers);
	ina_block_float_restore(sent, 3, -126, 1);
	after = _mm_getcsr();
	_mm_setcsr(before);
	assert_int_equal(after, callers);
	assert_memory_equal(sent, elements, sizeof(elements));
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exponents),
		cmocka_unit_test(quantizes),
		cmocka_unit_test(keeps_the_bound),
#if defined(__SSE2__)
		cmocka_unit_test(the_callers_rounding_is_put_aside),
#endif
	};
	const char *given = getenv("INA_SEED");
	unsigned int seed = given ? (unsigned int)strtoul(given, NULL, 0) : 1;

	printf("INA_SEED=%u\n", seed);
	srandom(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
