/* SPDX-License-Identifier: Apache-2.0 */
/* Test data whose sum is known. */
#include "pattern.h"

#include <stdbool.h>
#include <string.h>

#include "common/random.h"

#define FLOAT32_INTEGER_BITS 17

/* Every bit of x moves every bit of what comes out. */
static uint64_t mix(uint64_t x)
{
	return ina_random(&x);
}

static uint64_t base_of(uint64_t seed, int rank)
{
	return mix(mix(seed) + (uint64_t)rank);
}

/*
 * Bits of the integers: those of a significand, and its sign, hold the sum of all ranks' as well.
 * Below 1: there are more ranks than can add one bit each.
 */
static int integer_bits(const struct pattern *pattern)
{
	int bits = pattern->type == INA_FLOAT32 ? 25 : pattern->type == INA_BFLOAT16 ? 9 : 12;

	for (int ranks = 1; ranks < pattern->ranks; ranks *= 2)
		bits--;
	return bits < FLOAT32_INTEGER_BITS ? bits : FLOAT32_INTEGER_BITS;
}

/*
 * -2^(bits - 1) to 2^(bits - 1) - 1. Where not all ranks can add a bit, every second or fourth does
 * and so on, each time others.
 */
static int32_t small_integer(uint64_t base, int rank, size_t index, int bits)
{
	if (bits < 1) {
		if (((size_t)rank + index) % ((size_t)1 << (1 - bits)) != 0)
			return 0;
		bits = 1;
	}
	return (int32_t)(mix(base + index) >> (64 - bits)) - (1 << (bits - 1));
}

/* A power of two; the smallest leave a float16 well above its subnormals. */
static float scale_of(size_t index, enum ina_type type)
{
	return 1.0f / (float)(1u << (index * 7 % (type == INA_FLOAT16 ? 8 : 16)));
}

/* The bits of a number that the type has exactly, and not as a subnormal. */
static uint32_t encode(float value, enum ina_type type)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (type == INA_BFLOAT16)
		return bits >> 16;
	if (type == INA_FLOAT16 && value != 0) /* exponent bias 15 for 127, 10 bits for 23 */
		return (bits >> 16 & 0x8000) | ((bits & 0x7FFFFFFF) - (112u << 23)) >> 13;
	return bits;
}

size_t pattern_bytes(enum ina_type type)
{
	return type == INA_INT32 || type == INA_FLOAT32 ? 4 : 2;
}

static uint32_t encode_integer(uint64_t base, int rank, size_t index, int bits, enum ina_type type)
{
	return encode((float)small_integer(base, rank, index, bits) * scale_of(index, type), type);
}

void pattern_fill(const struct pattern *pattern, int rank, void *elements, size_t count)
{
	enum ina_type type = pattern->type;
	uint64_t base = base_of(pattern->seed, rank);
	int bits = integer_bits(pattern);
	uint32_t *words = elements;
	uint16_t *halves = elements;

	for (size_t i = 0; i < count; i++) {
		size_t index = pattern->offset + i;

		if (type == INA_INT32)
			words[i] = (uint32_t)mix(base + index);
		else if (type == INA_FLOAT32)
			words[i] = encode_integer(base, rank, index, bits, type);
		else
			halves[i] = (uint16_t)encode_integer(base, rank, index, bits, type);
	}
}

static int32_t combine(enum ina_op op, int32_t a, int32_t b)
{
	if (op == INA_SUM)
		return (int32_t)((uint32_t)a + (uint32_t)b);
	return (op == INA_MAX) == (a > b) ? a : b;
}

static uint32_t expected_bits(const struct pattern *pattern, const uint64_t *bases, int bits,
                              size_t index)
{
	bool integers = pattern->type == INA_INT32;
	int32_t result = 0;

	for (int r = 0; r < pattern->ranks; r++) {
		int32_t operand = integers ? (int32_t)(uint32_t)mix(bases[r] + index)
		                           : small_integer(bases[r], r, index, bits);

		result = r == 0 ? operand : combine(pattern->op, result, operand);
	}
	return integers ? (uint32_t)result
	                : encode((float)result * scale_of(index, pattern->type), pattern->type);
}

/* All |x| < 2^e, and s a sum of them: n 2^(e + log2 n - 31) + |s| 2^-24. */
double pattern_fixed_bound(int ranks)
{
	double largest = (double)(1 << FLOAT32_INTEGER_BITS); /* 2^e: -2^(bits - 1) is among them */
	int bits = 0;

	while (1 << bits < ranks)
		bits++;
	return ranks * largest * (double)(1 << bits) * 0x1p-31 + ranks * largest / 2 * 0x1p-24;
}

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Elements that differ: by little enough? */
static bool is_near(const struct pattern *pattern, uint32_t got, uint32_t expected,
                    double *farthest)
{
	double difference;

	if (pattern->slack == 0 || pattern->type != INA_FLOAT32)
		return false;
	difference = (double)float_of(got) - (double)float_of(expected);
	difference = difference < 0 ? -difference : difference;
	if (farthest && difference > *farthest)
		*farthest = difference;
	return difference <= pattern->slack; /* no NaN is */
}

uint64_t pattern_check(const struct pattern *pattern, const void *elements, size_t count,
                       size_t *first, double *farthest)
{
	const uint32_t *words = elements;
	const uint16_t *halves = elements;
	bool wide = pattern_bytes(pattern->type) == 4;
	int bits = integer_bits(pattern);
	uint64_t bases[INA_MAX_RANKS];
	uint64_t wrong = 0;

	for (int r = 0; r < pattern->ranks; r++)
		bases[r] = base_of(pattern->seed, r);
	for (size_t i = 0; i < count; i++) {
		uint32_t expected = expected_bits(pattern, bases, bits, pattern->offset + i);

		uint32_t got = wide ? words[i] : halves[i];

		if (got == expected || is_near(pattern, got, expected, farthest))
			continue;
		if (wrong++ == 0)
			*first = i;
	}
	return wrong;
}
