/* SPDX-License-Identifier: Apache-2.0 */
/* The checker of results: correct results pass in any order of operations, and each wrong bit is
 * found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "pattern.h"
#include "reference.h"

#define COUNT 1000
#define RANKS INA_MAX_RANKS

static uint8_t data[RANKS][8 * COUNT];
static uint8_t result[8 * COUNT];

static struct pattern make(enum ina_type type, enum ina_op op, uint64_t seed, int ranks)
{
	return (struct pattern){.type = type, .op = op, .seed = seed, .ranks = ranks};
}

static void fill(const struct pattern *pattern)
{
	for (int r = 0; r < pattern->ranks; r++)
		pattern_fill(pattern, r, data[r], COUNT);
}

static reference_bits get(const uint8_t *elements, size_t index, size_t bytes)
{
	reference_bits bits = 0;

	memcpy(&bits, elements + index * bytes, bytes);
	return bits;
}

/* From one end of the ranks to the other, with each step rounded; an average as libina computes
 * it. */
static void combine(const struct pattern *pattern, int first, int step)
{
	size_t bytes = ina_type_size(pattern->type);

	for (size_t i = 0; i < COUNT; i++) {
		reference_bits operands[INA_MAX_RANKS];
		reference_bits bits;

		for (int n = 0; n < pattern->ranks; n++)
			operands[n] = get(data[first + n * step], i, bytes);
		bits = operands[0];
		for (int n = 1; n < pattern->ranks; n++)
			bits = reference_combine(pattern->type, pattern->op, bits, operands[n]);
		if (pattern->op == INA_AVG)
			bits = reference_result(REFERENCE_HOSTS, pattern->type, INA_AVG, operands,
			                        pattern->ranks, 0, 1);
		memcpy(result + i * bytes, &bits, bytes);
	}
}

static void any_order(void **state)
{
	size_t first;

	(void)state;
	for (int t = 0; t < REFERENCE_TYPES; t++) {
		enum ina_type type = reference_type(t);

		for (int op = INA_SUM; op <= INA_AVG; op++) {
			for (int ranks = 1; ranks <= RANKS; ranks += ranks < 9    ? 1
			                                             : ranks < 64 ? 11
			                                                          : 479) {
				struct pattern pattern = make(type, (enum ina_op)op, 42, ranks);

				fill(&pattern);
				combine(&pattern, 0, 1);
				assert_int_equal(
				        pattern_check(&pattern, result, COUNT, &first, NULL), 0);
				combine(&pattern, ranks - 1, -1);
				assert_int_equal(
				        pattern_check(&pattern, result, COUNT, &first, NULL), 0);
			}
		}
	}
}

static void every_bit_counts(void **state)
{
	size_t first = COUNT;

	(void)state;
	for (int t = 0; t < REFERENCE_TYPES; t++) {
		enum ina_type type = reference_type(t);
		struct pattern pattern = make(type, INA_SUM, 1, 1);
		size_t bytes = ina_type_size(pattern.type);

		fill(&pattern);
		for (size_t bit = 0; bit < 8 * bytes; bit++) {
			memcpy(result, data[0], sizeof(result));
			result[(17 + bit) * bytes + bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_int_equal(pattern_check(&pattern, result, COUNT, &first, NULL), 1);
			assert_int_equal(first, 17 + bit);
		}
	}
}

/* Data of another seed, data of another rank, sums that lack a rank, and shifted data do not
 * pass. */
static void others_fail(void **state)
{
	size_t first;

	(void)state;
	for (int t = 0; t < REFERENCE_TYPES; t++) {
		enum ina_type type = reference_type(t);
		struct pattern two = make(type, INA_SUM, 1, 2);
		struct pattern one = make(type, INA_SUM, 1, 1);
		struct pattern other = make(type, INA_SUM, 2, 1);
		size_t bytes = ina_type_size(two.type);

		fill(&two);
		assert_true(pattern_check(&two, data[0], COUNT, &first, NULL) > COUNT * 9 / 10);
		fill(&one);
		assert_true(pattern_check(&other, data[0], COUNT, &first, NULL) > COUNT * 9 / 10);
		assert_true(pattern_check(&one, data[1], COUNT, &first, NULL) > COUNT * 9 / 10);
		assert_true(pattern_check(&one, data[0] + bytes, COUNT - 1, &first, NULL) >
		            COUNT * 8 / 10);
	}
}

/* The result of another operation does not pass. */
static void operations_differ(void **state)
{
	size_t first;

	(void)state;
	for (int t = 0; t < REFERENCE_TYPES; t++) {
		enum ina_type type = reference_type(t);

		for (int op = INA_SUM; op <= INA_AVG; op++) {
			struct pattern pattern = make(type, (enum ina_op)op, 7, 4);
			struct pattern other = pattern;

			fill(&pattern);
			other.op = op == INA_AVG ? INA_SUM : (enum ina_op)(op + 1);
			combine(&other, 0, 1);
			assert_true(pattern_check(&pattern, result, COUNT, &first, NULL) >
			            COUNT * 8 / 10);
		}
	}
}

/* In all types the highest bit is sometimes set and sometimes not: signed types have negative and
 * positive numbers.
 */
static void signs(void **state)
{
	(void)state;
	for (int t = 0; t < REFERENCE_TYPES; t++) {
		enum ina_type type = reference_type(t);
		struct pattern pattern = make(type, INA_SUM, 3, 1);
		size_t bytes = ina_type_size(pattern.type);
		size_t negative = 0;

		fill(&pattern);
		for (size_t i = 0; i < COUNT; i++)
			negative += get(data[0], i, bytes) >> (8 * bytes - 1);
		assert_true(negative > COUNT / 3 && negative < COUNT * 2 / 3);
	}
}

/* With a tolerance, a small error passes; a larger one, a NaN or an inexact integer does not. */
static void near_is_right(void **state)
{
	struct pattern pattern = make(INA_FLOAT32, INA_SUM, 5, 1);
	double farthest = 0;
	size_t first;
	float value;

	(void)state;
	fill(&pattern);
	memcpy(result, data[0], sizeof(result));
	memcpy(&value, result + 40, sizeof(value));
	value += 0.5f;
	memcpy(result + 40, &value, sizeof(value));
	assert_int_equal(pattern_check(&pattern, result, COUNT, &first, &farthest), 1);
	pattern.slack = 0.5;
	assert_int_equal(pattern_check(&pattern, result, COUNT, &first, &farthest), 0);
	assert_true(farthest == 0.5);
	pattern.slack = 0.4375;
	assert_int_equal(pattern_check(&pattern, result, COUNT, &first, &farthest), 1);
	assert_int_equal(first, 10);
	memcpy(result + 40, &(uint32_t){0x7FC00000}, 4);
	pattern.slack = 1e30;
	assert_int_equal(pattern_check(&pattern, result, COUNT, &first, &farthest), 1);
	pattern.type = INA_INT32;
	fill(&pattern);
	memcpy(result, data[0], sizeof(result));
	result[0] ^= 1;
	assert_int_equal(pattern_check(&pattern, result, COUNT, &first, &farthest), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(any_order),     cmocka_unit_test(every_bit_counts),
	        cmocka_unit_test(others_fail),   cmocka_unit_test(operations_differ),
	        cmocka_unit_test(near_is_right), cmocka_unit_test(signs),
	};

	reference_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
