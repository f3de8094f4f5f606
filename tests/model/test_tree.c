/* SPDX-License-Identifier: Apache-2.0 */
/* The adder tree against vectors worked out by hand, and against plain loops in the order that it
 * promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/tree.h"

/* Two pieces of the model's work, and part of a third. */
enum { PORTS_MAX = 8, LANES = 600, BYTES = LANES * 4 };

static union payload operands[PORTS_MAX];

/* Combines only elements: the result of `operands` over the ports of `mask`. */
static bool combine_elements(unsigned ports, unsigned mask, enum ina_wire_number_type type,
                             enum ina_wire_operation operation, uint32_t *sum)
{
	struct tree tree;
	struct tree_layout layout = {
	        .payload_bytes = BYTES, .number_type = type, .operation = operation};

	assert_true(tree_open(&tree, ports));
	tree_clear(&tree);
	for (unsigned port = 0; port < ports; port++)
		if (mask >> port & 1)
			tree_set_operand(&tree, port, &operands[port]);
	bool overflow = tree_sum(&tree, &layout, (uint8_t *)sum);
	tree_close(&tree);
	return overflow;
}

static bool sum_elements(unsigned ports, unsigned mask, bool float32, uint32_t *sum)
{
	return combine_elements(ports, mask, float32 ? INA_WIRE_FLOAT32 : INA_WIRE_INT32,
	                        INA_WIRE_SUM, sum);
}

static uint32_t combine_pair(uint32_t a, uint32_t b, enum ina_wire_number_type type,
                             enum ina_wire_operation operation)
{
	uint32_t sum[LANES];

	for (unsigned lane = 0; lane < LANES; lane++) {
		operands[0].words[lane] = a;
		operands[1].words[lane] = b;
	}
	combine_elements(2, 3, type, operation, sum);
	for (unsigned lane = 1; lane < LANES; lane++)
		assert_int_equal(sum[lane], sum[0]);
	return sum[0];
}

static uint32_t add_pair(uint32_t a, uint32_t b, bool float32)
{
	return combine_pair(a, b, float32 ? INA_WIRE_FLOAT32 : INA_WIRE_INT32, INA_WIRE_SUM);
}

/* IEEE 754-2019: 4.3.1 (ties to even), 6.3 (signed zeros), 7.2 (invalid), worked out by hand. */
static void test_float32_vectors(void **state)
{
	static const struct {
		uint32_t a, b, sum;
	} vectors[] = {
	        {0x3F800000, 0x40000000, 0x40400000}, /* 1 + 2 = 3 */
	        {0x3F800000, 0x33800000, 0x3F800000}, /* 1 + 2^-24: a tie, to even: 1 */
	        {0x3F800001, 0x33800000, 0x3F800002}, /* 1 + 2^-23 + 2^-24: a tie, up */
	        {0x3F800000, 0x33800001, 0x3F800001}, /* just above the tie */
	        {0x3F800000, 0xBF800000, 0x00000000}, /* x - x = +0 */
	        {0x80000000, 0x80000000, 0x80000000}, /* -0 + -0 = -0 */
	        {0x80000000, 0x00000000, 0x00000000}, /* -0 + +0 = +0 */
	        {0x00000001, 0x00000001, 0x00000002}, /* subnormals are kept */
	        {0x007FFFFF, 0x00000001, 0x00800000}, /* the largest subnormal + the smallest */
	        {0x00800000, 0x80000001, 0x007FFFFF}, /* and back */
	        {0x7F7FFFFF, 0x7F7FFFFF, 0x7F800000}, /* overflow: infinity */
	        {0x7F7FFFFF, 0x73000000, 0x7F800000}, /* a tie at the top: infinity */
	        {0x7F7FFFFF, 0x72FFFFFF, 0x7F7FFFFF}, /* below that tie: the largest */
	        {0x7F800000, 0x3F800000, 0x7F800000}, /* infinity + 1 */
	        {0x7F800000, 0xFF800000, 0x7FC00000}, /* infinity - infinity: NaN */
	        {0xFFC12345, 0x3F800000, 0x7FC00000}, /* every NaN becomes the canonical one */
	        {0x3F800000, 0x7F800001, 0x7FC00000}, /* a signalling one too */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		assert_int_equal(add_pair(vectors[i].a, vectors[i].b, true), vectors[i].sum);
		assert_int_equal(add_pair(vectors[i].b, vectors[i].a, true), vectors[i].sum);
	}
}

static void test_int32_wraps(void **state)
{
	(void)state;
	assert_int_equal(add_pair(0x7FFFFFFF, 1, false), 0x80000000);
	assert_int_equal(add_pair(0xFFFFFFFF, 1, false), 0);
	assert_int_equal(add_pair(0x80000000, 0x80000000, false), 0);
}

/* (p0 + p1) + (p2 + p3): with these values another order gives another result. */
static void test_order_of_four(void **state)
{
	uint32_t sum[LANES];

	(void)state;
	memset(operands, 0, sizeof(operands));
	operands[0].floats[5] = 1e8f;
	operands[1].floats[5] = -1e8f;
	operands[2].floats[5] = 1.0f;
	operands[3].floats[5] = 2.0f;
	sum_elements(4, 15, true, sum);
	assert_int_equal(sum[5], 0x40400000); /* 3 */

	operands[1].floats[5] = 1.0f;
	operands[2].floats[5] = -1e8f;
	sum_elements(4, 15, true, sum);
	assert_int_equal(sum[5], 0x00000000); /* (1e8 + 1) + (-1e8 + 2): both 1s are lost */
}

/* A missing port does not count as zero: -0 stays, and so do the bits of a NaN. */
static void test_bypass(void **state)
{
	uint32_t sum[LANES];

	(void)state;
	memset(operands, 0, sizeof(operands));
	operands[2].words[0] = 0x80000000;
	operands[2].words[1] = 0xFFABCDEF;
	sum_elements(4, 1 << 2, true, sum);
	assert_int_equal(sum[0], 0x80000000);
	assert_int_equal(sum[1], 0xFFABCDEF);

	operands[0].words[0] = 0x80000000;
	sum_elements(4, 1 << 2 | 1, true, sum);
	assert_int_equal(sum[0], 0x80000000);
	assert_int_equal(sum[1], 0x7FC00000); /* NaN + 0 */
}

/* 2^31 - 1 + 1 - 1: the sum of three fits, the node of the first two overflows. */
static void test_overflow_is_of_nodes(void **state)
{
	uint32_t sum[LANES];

	(void)state;
	memset(operands, 0, sizeof(operands));
	operands[0].words[3] = 0x7FFFFFFF;
	operands[1].words[3] = 1;
	operands[2].words[3] = 0xFFFFFFFF;
	assert_true(sum_elements(4, 15, false, sum));
	assert_int_equal(sum[3], 0x7FFFFFFF);

	operands[1].words[3] = 0xFFFFFFFF;
	operands[2].words[3] = 1;
	assert_false(sum_elements(4, 15, false, sum));
	assert_int_equal(sum[3], 0x7FFFFFFF);

	/* In each node of the tree, including the right half. */
	for (unsigned port = 0; port < 8; port += 2) {
		memset(operands, 0, sizeof(operands));
		operands[port].words[LANES - 1] = operands[port + 1].words[LANES - 1] = 0x40000000;
		assert_true(sum_elements(8, 255, false, sum));
	}

	memset(operands, 0, sizeof(operands));
	operands[0].words[3] = operands[1].words[3] = 0x80000000;
	assert_true(sum_elements(2, 3, false, sum));
	assert_false(sum_elements(2, 3, true, sum)); /* float32 has no such flag */
}

/* A message of two ranks in one packet: the header has the maximum, and each lane of the trailer
 * has its own rule. */
static void combine_message(unsigned lanes, enum ina_wire_number_type type,
                            enum ina_wire_operation operation)
{
	struct tree tree;
	struct tree_layout layout = {.payload_bytes = lanes * 4,
	                             .starts = true,
	                             .ends = true,
	                             .number_type = type,
	                             .operation = operation};
	const unsigned trailer = lanes - 4;
	uint32_t sum[LANES];

	memset(operands, 0, sizeof(operands));
	operands[0].words[7] = (uint32_t)-5;
	operands[1].words[7] = (uint32_t)-3;
	operands[0].words[6] = operands[1].words[6] = 0x7FFFFFFF;
	operands[0].words[8] = operands[0].words[trailer - 1] = 40;
	operands[1].words[8] = operands[1].words[trailer - 1] = 2;
	operands[0].words[trailer] = operands[1].words[trailer] = 0x7FFFFFFF;
	operands[0].words[trailer + 1] = 4;
	operands[1].words[trailer + 1] = 1;
	operands[0].words[trailer + 2] = operands[1].words[trailer + 2] = 7;
	operands[1].words[trailer + 3] = 1;

	assert_true(tree_open(&tree, 2));
	tree_clear(&tree);
	tree_set_operand(&tree, 0, &operands[0]);
	tree_set_operand(&tree, 1, &operands[1]);
	assert_false(tree_sum(&tree, &layout, (uint8_t *)sum));
	tree_close(&tree);
	assert_int_equal(sum[6], 0x7FFFFFFF);
	assert_int_equal(sum[7], (uint32_t)-3);
	if (operation == INA_WIRE_SUM) {
		assert_int_equal(sum[8], 42); /* even if they look like subnormals */
		assert_int_equal(sum[trailer - 1], 42);
	}
	assert_int_equal(sum[trailer], 0xFFFFFFFE);
	assert_int_equal(sum[trailer + 1], 5);
	assert_int_equal(sum[trailer + 2], 7);
	assert_int_equal(sum[trailer + 3], 1);
}

/* Lanes of header and trailer: maximum, sum, or. Only elements overflow. */
static void test_header_and_trailer(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		combine_message(16, INA_WIRE_INT32 + i / 3, INA_WIRE_SUM + i % 3);
		combine_message(LANES, INA_WIRE_INT32 + i / 3, INA_WIRE_SUM + i % 3);
	}
}

/* Worked out by hand from the formats' tables (IEEE 754-2019, 3.4; bfloat16: binary32's upper
 * half). */
static void test_halves(void **state)
{
	static const struct {
		enum ina_wire_number_type type;
		enum ina_wire_operation operation;
		uint16_t a, b, result;
	} vectors[] = {
	        {INA_WIRE_BFLOAT16, INA_WIRE_SUM, 0x3F80, 0x4000, 0x4040}, /* 1 + 2 */
	        {INA_WIRE_BFLOAT16, INA_WIRE_SUM, 0x3F80, 0x3B80, 0x3F80}, /* 1 + 2^-8: tie */
	        {INA_WIRE_BFLOAT16, INA_WIRE_SUM, 0x3F81, 0x3B80, 0x3F82}, /* the odd one: up */
	        {INA_WIRE_BFLOAT16, INA_WIRE_SUM, 0x7F7F, 0x7F7F, 0x7F80}, /* infinity */
	        {INA_WIRE_BFLOAT16, INA_WIRE_SUM, 0x0001, 0x0001, 0x0002}, /* subnormal */
	        {INA_WIRE_BFLOAT16, INA_WIRE_SUM, 0x7F81, 0x0000, 0x7FC0}, /* NaN */
	        {INA_WIRE_FLOAT16, INA_WIRE_SUM, 0x3C00, 0x4000, 0x4200},  /* 1 + 2 */
	        {INA_WIRE_FLOAT16, INA_WIRE_SUM, 0x3C00, 0x1000, 0x3C00},  /* 1 + 2^-11: tie */
	        {INA_WIRE_FLOAT16, INA_WIRE_SUM, 0x3C01, 0x1000, 0x3C02},  /* the odd one: up */
	        {INA_WIRE_FLOAT16, INA_WIRE_SUM, 0x7BFF, 0x4C00, 0x7C00},  /* 65504 + 16 */
	        {INA_WIRE_FLOAT16, INA_WIRE_SUM, 0x7BFF, 0x4B80, 0x7BFF},  /* 65504 + 15 */
	        {INA_WIRE_FLOAT16, INA_WIRE_SUM, 0x03FF, 0x0001, 0x0400},  /* to 2^-14 */
	        {INA_WIRE_FLOAT16, INA_WIRE_SUM, 0x7C00, 0xFC00, 0x7E00},  /* NaN */
	        {INA_WIRE_FLOAT16, INA_WIRE_MAX, 0x8000, 0x0000, 0x0000},  /* -0 < +0 */
	        {INA_WIRE_FLOAT16, INA_WIRE_MIN, 0x8000, 0x0000, 0x8000},
	        {INA_WIRE_FLOAT16, INA_WIRE_MIN, 0xFC01, 0x0000, 0x7E00}, /* any NaN */
	        {INA_WIRE_BFLOAT16, INA_WIRE_MAX, 0xFF80, 0xFF7F, 0xFF7F},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		uint32_t a = vectors[i].a * 0x10001u, b = vectors[i].b * 0x10001u;
		uint32_t want = vectors[i].result * 0x10001u;

		assert_int_equal(combine_pair(a, b, vectors[i].type, vectors[i].operation), want);
		assert_int_equal(combine_pair(b, a, vectors[i].type, vectors[i].operation), want);
	}
}

/* (1 + 2^-11) + 2^-12 in float16: rounding at each node gives 1, rounding once gives 1 + 2^-10. */
static void test_halves_round_once(void **state)
{
	uint32_t sum[LANES];

	(void)state;
	memset(operands, 0, sizeof(operands));
	operands[0].words[2] = 0x3C00; /* 1 */
	operands[1].words[2] = 0x1000; /* 2^-11: alone a tie, to 1 */
	operands[2].words[2] = 0x0C00; /* 2^-12 */
	combine_elements(4, 15, INA_WIRE_FLOAT16, INA_WIRE_SUM, sum);
	assert_int_equal(sum[2], 0x3C01);
}

/* Widening and rounding give every encoding back, and a single operand passes unchanged. */
static void test_halves_keep_encodings(void **state)
{
	uint32_t sum[LANES];

	(void)state;
	for (uint32_t i = 0; i < 0x10000; i++) {
		uint16_t half = (uint16_t)i;

		assert_int_equal(tree_round_bfloat16(tree_widen_bfloat16(half)), half);
		assert_int_equal(tree_round_float16(tree_widen_float16(half)), half);
		operands[1].words[0] = i;
		combine_elements(3, 2, INA_WIRE_FLOAT16, INA_WIRE_SUM, sum);
		assert_int_equal(sum[0], i);
	}
}

/* IEEE 754-2019, 9.6: every pair of special values, by hand, in the order of their bits. */
static void test_max_min(void **state)
{
	static const uint32_t rising[] = {0xFF800000, 0xFF7FFFFF, 0xBF800000, 0x80000001,
	                                  0x80000000, 0x00000000, 0x00000001, 0x3F800000,
	                                  0x7F7FFFFF, 0x7F800000};
	static const uint32_t nans[] = {0x7F800001, 0x7FC12345, 0xFFFFFFFF};
	enum { COUNT = sizeof(rising) / sizeof(rising[0]) };

	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		for (unsigned j = 0; j < COUNT; j++) {
			assert_int_equal(
			        combine_pair(rising[i], rising[j], INA_WIRE_FLOAT32, INA_WIRE_MAX),
			        rising[i > j ? i : j]);
			assert_int_equal(
			        combine_pair(rising[i], rising[j], INA_WIRE_FLOAT32, INA_WIRE_MIN),
			        rising[i < j ? i : j]);
		}
		for (unsigned j = 0; j < 3; j++) {
			assert_int_equal(
			        combine_pair(rising[i], nans[j], INA_WIRE_FLOAT32, INA_WIRE_MAX),
			        0x7FC00000);
			assert_int_equal(
			        combine_pair(nans[j], rising[i], INA_WIRE_FLOAT32, INA_WIRE_MIN),
			        0x7FC00000);
		}
	}
	assert_int_equal(combine_pair(0x80000000, 1, INA_WIRE_INT32, INA_WIRE_MAX), 1);
	assert_int_equal(combine_pair(0x80000000, 1, INA_WIRE_INT32, INA_WIRE_MIN), 0x80000000);
}

static float reference_float(const float *value, const bool *present, unsigned count, bool *any)
{
	if (count == 1) {
		*any = present[0];
		return value[0];
	}
	bool left, right;
	float a = reference_float(value, present, count / 2, &left);
	float b = reference_float(value + count / 2, present + count / 2, count / 2, &right);

	*any = left || right;
	return left && right ? a + b : left ? a : b;
}

/* Random masks and values for every port count, against a recursion over halves. */
static void test_random_floats(void **state)
{
	const char *given = getenv("INA_SEED");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 0) : 1;

	(void)state;
	print_message("INA_SEED=%u\n", seed);
	for (unsigned round = 0; round < 2000; round++) {
		unsigned ports = 2 + (unsigned)rand_r(&seed) % 7;
		unsigned mask = 1 + (unsigned)rand_r(&seed) % ((1u << ports) - 1);
		uint32_t sum[LANES];

		for (unsigned port = 0; port < ports; port++)
			for (unsigned lane = 0; lane < LANES; lane++)
				operands[port].floats[lane] = ((float)rand_r(&seed) - 1e9f) *
				                              (rand_r(&seed) % 2 ? 1.0f : 1e-6f);
		sum_elements(ports, mask, true, sum);
		for (unsigned lane = 0; lane < LANES; lane++) {
			float value[PORTS_MAX] = {0};
			bool present[PORTS_MAX] = {0}, any;

			for (unsigned port = 0; port < ports; port++) {
				value[port] = operands[port].floats[lane];
				present[port] = mask >> port & 1;
			}
			float want = reference_float(value, present, PORTS_MAX, &any);
			assert_memory_equal(&sum[lane], &want, 4);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_float32_vectors),
	        cmocka_unit_test(test_int32_wraps),
	        cmocka_unit_test(test_order_of_four),
	        cmocka_unit_test(test_bypass),
	        cmocka_unit_test(test_overflow_is_of_nodes),
	        cmocka_unit_test(test_header_and_trailer),
	        cmocka_unit_test(test_halves),
	        cmocka_unit_test(test_halves_round_once),
	        cmocka_unit_test(test_halves_keep_encodings),
	        cmocka_unit_test(test_max_min),
	        cmocka_unit_test(test_random_floats),
	};
	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
