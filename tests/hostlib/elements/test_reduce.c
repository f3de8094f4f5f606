/* SPDX-License-Identifier: Apache-2.0 */
/* The host's operations: edge cases worked out by hand, and all operations against other
 * arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <pmmintrin.h>
#endif

#include "hostlib/elements/average.h"
#include "hostlib/elements/reduce.h"
#include "reference.h"

#define COUNT_MAX 100

static void int32_edges(void **state)
{
	const int32_t a[] = {1, -1, INT32_MAX, INT32_MIN, INT32_MAX, 0};
	const int32_t b[] = {2, 1, 0, 0, INT32_MIN, -7};
	const int32_t sums[] = {3, 0, INT32_MAX, INT32_MIN, -1, -7};
	int32_t result[6];

	(void)state;
	assert_false(ina_combine(result, a, b, 6, INA_INT32, INA_SUM));
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
			assert_true(ina_combine(result, a, b, 20, INA_INT32, INA_SUM));
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
		assert_int_equal(ina_combine(result, a, b, count, INA_INT32, INA_SUM), overflow);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(result[i], (int32_t)(uint32_t)((int64_t)a[i] + b[i]));
		/* In place. */
		ina_combine(b, a, b, count, INA_INT32, INA_SUM);
		assert_memory_equal(b, result, count * sizeof(*b));
	}
}

/* Only int32 sums report overflows. */
static void short_integers(void **state)
{
	static const struct {
		enum ina_type type;
		enum ina_op op;
		uint16_t bits[3];
	} rows[] = {
	        {INA_INT8, INA_SUM, {0x7F, 0x01, 0x80}},
	        {INA_INT8, INA_SUM, {0xFF, 0x01, 0x00}},
	        {INA_INT8, INA_PROD, {0x80, 0xFF, 0x80}}, /* -128 * -1 = 128, which is -128 */
	        {INA_INT8, INA_MAX, {0xFF, 0x01, 0x01}},
	        {INA_INT8, INA_MIN, {0x80, 0x7F, 0x80}},
	        {INA_UINT16, INA_SUM, {0xFFFF, 0x0002, 0x0001}},
	        {INA_UINT16, INA_PROD, {0xFFFF, 0xFFFF, 0x0001}},
	        {INA_UINT16, INA_MAX, {0xFFFF, 0x0001, 0xFFFF}},
	        {INA_UINT16, INA_MIN, {0x8000, 0x7FFF, 0x7FFF}},
	};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		uint16_t result = 0;

		assert_false(ina_combine(&result, &rows[r].bits[0], &rows[r].bits[1], 1,
		                         rows[r].type, rows[r].op));
		assert_int_equal(result, rows[r].bits[2]);
	}
}

/* The bits of IEEE 754 binary32, worked out by hand. */
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

		assert_false(
		        ina_combine(&result, &rows[r][0], &rows[r][1], 1, INA_FLOAT32, INA_SUM));
		memcpy(&bits, &result, sizeof(bits));
		assert_int_equal(bits, rows[r][2]);
	}
}

/* Rows of a, b, a op b. */
struct row {
	enum ina_op op;
	uint16_t bits[3];
};

static void check_rows(const struct row *rows, size_t count, enum ina_type type)
{
	for (size_t r = 0; r < count; r++) {
		uint16_t result;

		ina_combine(&result, &rows[r].bits[0], &rows[r].bits[1], 1, type, rows[r].op);
		assert_int_equal(result, rows[r].bits[2]);
	}
}

/* Worked out by hand from the format: 1 sign, 8 exponent, 7 fraction. */
static void bfloat16_edges(void **state)
{
	static const struct row rows[] = {
	        {INA_SUM, {0x3F80, 0x4000, 0x4040}}, /* 1 + 2 = 3 */
	        {INA_SUM, {0x3F80, 0x3B80, 0x3F80}}, /* 1 + 2^-8: a tie, to even */
	        {INA_SUM, {0x3F81, 0x3B80, 0x3F82}}, /* a tie, to even, upwards */
	        {INA_SUM, {0x0001, 0x0001, 0x0002}}, /* subnormals stay */
	        {INA_SUM, {0x7F7F, 0x7F7F, 0x7F80}}, /* overflow to infinity */
	        {INA_SUM, {0x7F80, 0xFF80, 0x7FC0}}, /* infinity - infinity */
	        {INA_SUM, {0xFF81, 0x3F80, 0x7FC0}}, /* a signalling NaN */
	        {INA_SUM, {0x8000, 0x8000, 0x8000}}, /* -0 + -0 = -0 */
	        {INA_MAX, {0x8000, 0x0000, 0x0000}}, /* max(-0, 0) = 0 */
	        {INA_MIN, {0x0000, 0x8000, 0x8000}}, /* min(0, -0) = -0 */
	        {INA_MAX, {0xC000, 0xBF80, 0xBF80}}, /* max(-2, -1) = -1 */
	        {INA_MIN, {0xFF80, 0x7FFF, 0x7FC0}}, /* a NaN wins, and is the canonical one */
	};

	(void)state;
	check_rows(rows, sizeof(rows) / sizeof(rows[0]), INA_BFLOAT16);
}

/* 1 sign, 5 exponent, 10 fraction. */
static void float16_edges(void **state)
{
	static const struct row rows[] = {
	        {INA_SUM, {0x3C00, 0x4000, 0x4200}}, /* 1 + 2 = 3 */
	        {INA_SUM, {0x3C00, 0x1000, 0x3C00}}, /* 1 + 2^-11: a tie, to even */
	        {INA_SUM, {0x3C01, 0x1000, 0x3C02}}, /* a tie, to even, upwards */
	        {INA_SUM, {0x03FF, 0x0001, 0x0400}}, /* from subnormal to normal */
	        {INA_SUM, {0x7BFF, 0x4B80, 0x7BFF}}, /* 65504 + 15 rounds down */
	        {INA_SUM, {0x7BFF, 0x4C00, 0x7C00}}, /* 65504 + 16: a tie, to infinity */
	        {INA_SUM, {0x7C00, 0xFC00, 0x7E00}}, /* infinity - infinity */
	        {INA_MAX, {0x8000, 0x0000, 0x0000}}, /* max(-0, 0) = 0 */
	        {INA_MIN, {0xC000, 0xBC00, 0xC000}}, /* min(-2, -1) = -2 */
	        {INA_MAX, {0x7C00, 0xFC01, 0x7E00}}, /* a NaN wins, and is the canonical one */
	};

	(void)state;
	check_rows(rows, sizeof(rows) / sizeof(rows[0]), INA_FLOAT16);
}

/* Fewer elements in one call than the processor's own conversions take: the portable way. */
static void reduce_by_sevens(uint16_t *result, const uint16_t *a, const uint16_t *b, size_t count,
                             enum ina_type type, enum ina_op op)
{
	for (size_t i = 0; i < count; i += 7)
		ina_combine(result + i, a + i, b + i, count - i < 7 ? count - i : 7, type, op);
}

/* Every encoding of 16 bits against edge cases, and against random ones of near exponents. */
static void check_all_encodings(enum ina_type type, const uint16_t *edges, size_t edge_count)
{
	static uint16_t a[0x10000];
	static uint16_t b[0x10000];
	static uint16_t result[0x10000];
	static uint16_t portable[0x10000];

	for (int op = INA_SUM; op <= INA_PROD; op++) {
		for (size_t round = 0; round < edge_count + 20; round++) {
			for (uint32_t i = 0; i < 0x10000; i++) {
				a[i] = (uint16_t)i;
				b[i] = round < edge_count ? edges[round]
				                          : (uint16_t)(i ^ (random() & 0x87FF));
			}
			ina_combine(result, a, b, 0x10000, type, (enum ina_op)op);
			reduce_by_sevens(portable, a, b, 0x10000, type, (enum ina_op)op);
			assert_memory_equal(portable, result, sizeof(result));
			for (uint32_t i = 0; i < 0x10000; i++) {
				reference_bits wanted =
				        reference_combine(type, (enum ina_op)op, a[i], b[i]);

				if (result[i] != wanted)
					fail_msg("type %d op %d: %04x, %04x gave %04x, not %04x",
					         (int)type, op, a[i], b[i], result[i],
					         (unsigned int)wanted);
			}
		}
	}
}

static void all_bfloat16(void **state)
{
	static const uint16_t edges[] = {0,      0x8000, 1,      0x8001, 0x007F, 0x0080, 0x3F80,
	                                 0xBF80, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0xFFFF};

	(void)state;
	check_all_encodings(INA_BFLOAT16, edges, sizeof(edges) / sizeof(edges[0]));
}

static void all_float16(void **state)
{
	static const uint16_t edges[] = {0,      0x8000, 1,      0x8001, 0x03FF, 0x0400, 0x3C00,
	                                 0xBC00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFFFF};

	(void)state;
	check_all_encodings(INA_FLOAT16, edges, sizeof(edges) / sizeof(edges[0]));
}

/* Random bits; floats also with near exponents, because otherwise sums are never rounded. */
static reference_bits draw(enum ina_type type)
{
	reference_bits bits =
	        (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();

	if (type == INA_FLOAT64 && random() % 2)
		bits = (bits & 0x801FFFFFFFFFFFFF) | 0x3FE0000000000000;
	return bits & (UINT64_MAX >> (64 - 8 * reference_bytes(type)));
}

/* All types and operations: random bits, and pairs that differ in few of them. */
static void all_operations(void **state)
{
	(void)state;
	for (int t = 0; t < REFERENCE_TYPES; t++) {
		enum ina_type type = reference_type(t);

		for (int round = 0; round < 100000; round++) {
			enum ina_op op = (enum ina_op)(INA_SUM + round % 4);
			reference_bits a = draw(type);
			reference_bits b =
			        round % 8 < 4 ? draw(type) : a ^ (reference_bits)(random() & 0xFF);
			reference_bits result = 0;

			ina_combine(&result, &a, &b, 1, type, op);
			if (result != reference_combine(type, op, a, b))
				fail_msg("type %d op %d: %llx, %llx gave %llx", type, (int)op,
				         (unsigned long long)a, (unsigned long long)b,
				         (unsigned long long)result);
		}
	}
}

/* The bits of IEEE 754 binary64, worked out by hand. */
static void float64_edges(void **state)
{
	static const struct {
		enum ina_op op;
		uint64_t bits[3];
	} rows[] = {
	        {INA_SUM, {0x3FF0000000000000, 0x4000000000000000, 0x4008000000000000}},
	        /* 1 + 2^-53: a tie, to even */
	        {INA_SUM, {0x3FF0000000000000, 0x3CA0000000000000, 0x3FF0000000000000}},
	        {INA_SUM, {0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000}},
	        {INA_PROD, {0x4000000000000000, 0xC008000000000000, 0xC018000000000000}},
	        {INA_PROD, {0x0000000000000000, 0x7FF0000000000000, 0x7FF8000000000000}},
	        {INA_MAX, {0x8000000000000000, 0x0000000000000000, 0x0000000000000000}},
	        {INA_MIN, {0xFFF0000000000000, 0x7FF0000000000001, 0x7FF8000000000000}},
	};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		uint64_t result;

		ina_combine(&result, &rows[r].bits[0], &rows[r].bits[1], 1, INA_FLOAT64,
		            rows[r].op);
		assert_int_equal(result, rows[r].bits[2]);
	}
}

/* As the ranks compute it: each makes its addends, and all addends are added one after the
 * other. */
static reference_bits average_of(enum ina_type type, const reference_bits *operands, int ranks)
{
	enum ina_type as = ina_average_type(type);
	size_t count = ina_average_bytes(type) / reference_bytes(as);
	uint8_t sum[16] = {0};
	uint8_t addends[16];
	reference_bits average = 0;

	for (int r = 0; r < ranks; r++) {
		ina_average_begin(r == 0 ? sum : addends, &operands[r], 1, type, ranks);
		if (r > 0)
			assert_false(ina_combine(sum, addends, sum, count, as, INA_SUM));
	}
	ina_average_end(&average, sum, 1, type, ranks);
	return average;
}

/* Bits worked out by hand. All ranks have the same element, except the last one, whose element may
 * differ. */
static void averages_near_the_ends(void **state)
{
	static const struct {
		enum ina_type type;
		int ranks;
		reference_bits all;
		reference_bits last;
		reference_bits average;
	} rows[] = {
	        /* 40000, and the largest numbers */
	        {INA_FLOAT16, 4, 0x78E2, 0x78E2, 0x78E2},
	        {INA_FLOAT16, 1024, 0xFBFF, 0xFBFF, 0xFBFF},
	        {INA_BFLOAT16, 4, 0x7F62, 0x7F62, 0x7F62},
	        {INA_BFLOAT16, 1024, 0x7F7F, 0x7F7F, 0x7F7F},
	        {INA_FLOAT32, 4, 0x7F61B1E6, 0x7F61B1E6, 0x7F61B1E6},
	        {INA_FLOAT32, 4, 0x7F7FFFFF, 0x7F7FFFFF, 0x7F7FFFFF},
	        {INA_FLOAT64, 4, 0x7FEFFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF},
	        {INA_FLOAT64, 4, 0xFFEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF},
	        /* the smallest 16-bit numbers: float32 has room below them */
	        {INA_FLOAT16, 1024, 0x0001, 0x0001, 0x0001},
	        {INA_BFLOAT16, 1024, 0x8001, 0x8001, 0x8001},
	        /* 2^-126 / 8 is exact, as a subnormal; 2^-149 / 8 is rounded to zero */
	        {INA_FLOAT32, 4, 0x00800000, 0x00800000, 0x00800000},
	        {INA_FLOAT32, 4, 0x00000001, 0x00000001, 0x00000000},
	        /* infinities and NaNs do not change */
	        {INA_FLOAT16, 3, 0x7C00, 0x7BFF, 0x7C00},
	        {INA_FLOAT32, 3, 0x7F7FFFFF, 0xFF800000, 0xFF800000},
	        {INA_FLOAT32, 3, 0x7F800000, 0xFF800000, 0x7FC00000},
	        {INA_BFLOAT16, 3, 0x3F80, 0xFF81, 0x7FC0},
	        {INA_FLOAT64, 3, 0x7FF0000000000001, 0, 0x7FF8000000000000},
	        /* (3 (2^31 - 1) - 2^31) / 4 = 2^30 - 3/4; all at one end; -1 / 2 */
	        {INA_INT32, 4, 0x7FFFFFFF, 0x80000000, 0x3FFFFFFF},
	        {INA_INT32, 1024, 0x80000000, 0x80000000, 0x80000000},
	        {INA_INT32, 2, 0, 0xFFFFFFFF, 0},
	        {INA_UINT32, 1024, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF},
	        {INA_UINT32, 2, 0xFFFFFFFF, 0, 0x7FFFFFFF},
	        {INA_INT64, 1024, 0x8000000000000000, 0x8000000000000000, 0x8000000000000000},
	        {INA_INT64, 2, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0},
	        {INA_INT64, 3, 0xFFFFFFFFFFFFFFFF, 0, 0},
	        {INA_UINT64, 1024, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF},
	        {INA_UINT8, 1024, 0xFF, 0xFF, 0xFF},
	        {INA_UINT8, 3, 0xFF, 0, 0xAA},
	        {INA_INT8, 1024, 0x80, 0x80, 0x80},
	        {INA_INT8, 4, 0x7F, 0x80, 0x3F}, /* (3 * 127 - 128) / 4 = 63.25 */
	        {INA_INT8, 2, 0, 0xFF, 0},
	        {INA_UINT16, 1024, 0xFFFF, 0xFFFF, 0xFFFF},
	        {INA_UINT16, 3, 0xFFFF, 0, 0xAAAA},
	};
	reference_bits operands[INA_MAX_RANKS];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		reference_bits average;

		for (int r = 0; r < rows[i].ranks; r++)
			operands[r] = r < rows[i].ranks - 1 ? rows[i].all : rows[i].last;
		average = average_of(rows[i].type, operands, rows[i].ranks);
		if (average != rows[i].average)
			fail_msg("row %zu gave %llx", i, (unsigned long long)average);
	}
}

/* 3 ranks, so sums of quarters: a sum that was rounded up to 3/4 of 2^128, and of 2^1024. */
static void an_average_of_finite_numbers_is_finite(void **state)
{
	const uint32_t sum32 = 0xFF400000;         /* -1.5 * 2^127 */
	const uint64_t sum64 = 0x7FE8000000000000; /* 1.5 * 2^1023 */
	uint32_t average32;
	uint64_t average64;

	(void)state;
	ina_average_end(&average32, &sum32, 1, INA_FLOAT32, 3);
	ina_average_end(&average64, &sum64, 1, INA_FLOAT64, 3);
	assert_int_equal(average32, 0xFF7FFFFF);
	assert_int_equal(average64, 0x7FEFFFFFFFFFFFFF);
}

/* Random elements, half of them with the largest exponents, on every number of ranks. */
static void averages(void **state)
{
	reference_bits operands[INA_MAX_RANKS];

	(void)state;
	for (int t = 0; t < REFERENCE_TYPES; t++) {
		enum ina_type type = reference_type(t);

		for (int round = 0; round < 4000; round++) {
			int most = round % 100 == 0 ? INA_MAX_RANKS : 16;
			int ranks = 2 + (int)(random() % (most - 1));
			reference_bits got;
			reference_bits wanted;

			for (int r = 0; r < ranks; r++) {
				operands[r] = draw(type);
				if (round % 2 && type == INA_FLOAT32)
					operands[r] = (operands[r] & 0x80FFFFFF) | 0x7E800000;
				if (round % 2 && type == INA_FLOAT64)
					operands[r] = (operands[r] & 0x801FFFFFFFFFFFFF) |
					              0x7FC0000000000000;
			}
			got = average_of(type, operands, ranks);
			/* The first chunk of a ring: one after the other. */
			wanted = reference_result(REFERENCE_HOSTS, type, INA_AVG, operands, ranks,
			                          0, (size_t)1 << 40);
			if (got != wanted)
				fail_msg("type %d, %d ranks: %llx, not %llx", type, ranks,
				         (unsigned long long)got, (unsigned long long)wanted);
		}
	}
}

/* Blocks and vectors, at any address, in place and not: the result equals that of single
 * elements. */
static void averages_of_many(void **state)
{
	enum { MANY = 2500 };
	static uint8_t elements[8 * MANY + 16];
	static uint8_t addends[16 * MANY + 16];
	static uint8_t results[8 * MANY + 16];

	(void)state;
	for (int t = 0; t < REFERENCE_TYPES; t++) {
		enum ina_type type = reference_type(t);
		size_t bytes = reference_bytes(type);
		size_t wide = ina_average_bytes(type);
		uint8_t *from = elements + t;
		uint8_t *sums = addends + t;
		uint8_t *to = results + t;

		for (size_t i = 0; i < MANY * bytes; i++)
			from[i] = (uint8_t)random();
		memset(results, 0x5A, sizeof(results));
		ina_average_begin(sums, from, MANY, type, 5);
		ina_average_end(to, sums, MANY, type, 5);
		assert_int_equal(to[MANY * bytes], 0x5A);
		for (size_t i = 0; i < MANY; i++) {
			reference_bits one = 0;
			uint8_t addend[16];

			memcpy(&one, from + i * bytes, bytes);
			ina_average_begin(addend, &one, 1, type, 5);
			assert_memory_equal(sums + i * wide, addend, wide);
			ina_average_end(&one, addend, 1, type, 5);
			assert_memory_equal(to + i * bytes, &one, bytes);
		}
		if (bytes != wide)
			continue;
		ina_average_begin(from, from, MANY, type, 5);
		ina_average_end(from, from, MANY, type, 5);
		assert_memory_equal(from, to, MANY * bytes);
	}
}

/* Wide operands and results in every combination. */
static void wide_ones(void **state)
{
	enum { MANY = 1300 };
	static uint16_t a[2][MANY], narrow[MANY];
	static uint32_t wide[2][MANY], result[MANY];

	(void)state;
	for (int i = 0; i < 16; i++) {
		enum ina_type type = i & 1 ? INA_FLOAT16 : INA_BFLOAT16;
		enum ina_op op = i & 2 ? INA_PROD : INA_SUM;
		struct ina_operand operands[2];

		for (int k = 0; k < 2; k++) {
			bool is_wide = (i & (4 << k)) != 0;

			for (size_t n = 0; n < MANY; n++) {
				a[k][n] = (uint16_t)(k == 0 ? random()
				                            : a[0][n] ^ (random() & 0x87FF));
				/* A wide result has more digits. */
				wide[k][n] = (uint32_t)reference_round(
				                     INA_FLOAT32, reference_value(type, a[k][n])) |
				             (uint32_t)(is_wide ? random() & 0xFF : 0);
			}
			operands[k].elements = is_wide ? (const void *)wide[k] : a[k];
			operands[k].wide = is_wide;
		}
		assert_true(ina_type_widens(type, op));
		ina_combine_wide(result, true, operands[0], operands[1], MANY, type, op);
		ina_combine_wide(narrow, false, operands[0], operands[1], MANY, type, op);
		for (size_t n = 0; n < MANY; n++) {
			reference_bits sum =
			        reference_combine(INA_FLOAT32, op, wide[0][n], wide[1][n]);

			assert_int_equal(result[n], sum);
			assert_int_equal(narrow[n],
			                 reference_round(type, reference_value(INA_FLOAT32, sum)));
		}
	}
	assert_false(ina_type_widens(INA_FLOAT16, INA_MAX));
	assert_false(ina_type_widens(INA_FLOAT32, INA_SUM));
}

/* Any address and any count, in place and not: the same elements, and no bytes around them. */
static void any_alignment(void **state)
{
	uint8_t a[8 * COUNT_MAX];
	uint8_t b[8 * COUNT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(a); i++) {
		a[i] = (uint8_t)random();
		b[i] = (uint8_t)random();
	}
	for (int t = 0; t < REFERENCE_TYPES; t++) {
		enum ina_type type = reference_type(t);
		size_t bytes = reference_bytes(type);

		for (size_t shift = 0; shift < 16; shift++) {
			size_t count = 37 + shift;
			uint8_t straight[8 * COUNT_MAX];
			uint8_t from[8 * COUNT_MAX + 20];
			uint8_t other[8 * COUNT_MAX + 20];
			uint8_t to[8 * COUNT_MAX + 20];

			ina_combine(straight, a, b, count, type, INA_SUM);
			memcpy(from + shift, a, count * bytes);
			memset(other, 0x5A, sizeof(other));
			memcpy(other + (15 - shift), b, count * bytes);
			memset(to, 0x5A, sizeof(to));
			ina_combine(to + shift / 2, from + shift, other + (15 - shift), count, type,
			            INA_SUM);
			assert_memory_equal(to + shift / 2, straight, count * bytes);
			assert_int_equal(to[shift / 2 + count * bytes], 0x5A);
			ina_combine(other + (15 - shift), from + shift, other + (15 - shift), count,
			            type, INA_SUM);
			assert_memory_equal(other + (15 - shift), straight, count * bytes);
			assert_int_equal(other[15 - shift + count * bytes], 0x5A);
		}
	}
}

#if defined(__SSE2__)
/* Subnormals as zeros, inexact results rounded up, and exceptions that trap. */
#define CALLERS_MODE (_MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON | _MM_ROUND_UP)

/* docs/protocol.md, Elements: to nearest, and subnormals are kept, whatever mode the program has
 * set. */
static void the_callers_rounding_is_put_aside(void **state)
{
	const uint32_t a32[] = {1, 0x80000003, 0x00800000, 0x3F800000, 0x3F800001};
	const uint32_t b32[] = {2, 0x00000001, 0x80000001, 0x33800000, 0x33800000};
	/* 3, -2 and 2^-126 - 1 units of the smallest number; the ties at 1 + 2^-24 round to
	 * even. */
	const uint32_t sums32[] = {3, 0x80000002, 0x007FFFFF, 0x3F800000, 0x3F800002};
	const uint16_t a16[] = {0x0001, 0x0080, 0x3F80};
	const uint16_t b16[] = {0x0002, 0x8001, 0x3B80}; /* the last is a tie: 1 + 2^-8 */
	const uint16_t sums16[] = {0x0003, 0x007F, 0x3F80};
	uint32_t result32[5];
	uint16_t result16[3];
	unsigned int before = _mm_getcsr();
	unsigned int after;

	(void)state;
	_mm_setcsr(CALLERS_MODE);
	ina_combine(result32, a32, b32, 5, INA_FLOAT32, INA_SUM);
	ina_combine(result16, a16, b16, 3, INA_BFLOAT16, INA_SUM);
	after = _mm_getcsr();
	_mm_setcsr(before);
	assert_int_equal(after, CALLERS_MODE);
	assert_memory_equal(result32, sums32, sizeof(sums32));
	assert_memory_equal(result16, sums16, sizeof(sums16));
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(int32_edges),
		cmocka_unit_test(int32_overflows),
		cmocka_unit_test(int32_random),
		cmocka_unit_test(short_integers),
		cmocka_unit_test(float32_edges),
		cmocka_unit_test(bfloat16_edges),
		cmocka_unit_test(float16_edges),
		cmocka_unit_test(all_bfloat16),
		cmocka_unit_test(all_float16),
		cmocka_unit_test(all_operations),
		cmocka_unit_test(float64_edges),
		cmocka_unit_test(averages_near_the_ends),
		cmocka_unit_test(an_average_of_finite_numbers_is_finite),
		cmocka_unit_test(averages),
		cmocka_unit_test(averages_of_many),
		cmocka_unit_test(wide_ones),
		cmocka_unit_test(any_alignment),
#if defined(__SSE2__)
		cmocka_unit_test(the_callers_rounding_is_put_aside),
#endif
	};
	const char *given = getenv("INA_SEED");
	unsigned int seed = given ? (unsigned int)strtoul(given, NULL, 0) : 1;

	printf("INA_SEED=%u\n", seed);
	srandom(seed);
	reference_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
