/* SPDX-License-Identifier: Apache-2.0 */
/* Test data with a known result. */
#include "pattern.h"

#include <stdbool.h>
#include <string.h>

#include "common/random.h"
#include "hostlib/tables/types.h"

#define FLOAT32_INTEGER_BITS 17
#define MOST_TWOS            8 /* among the factors of a product of floats */

/* Every bit of the input affects every bit of the result. */
static uint64_t mix(uint64_t x)
{
	return ina_random(&x);
}

static uint64_t base_of(uint64_t seed, int rank)
{
	return mix(mix(seed) + (uint64_t)rank);
}

enum kind { SIGNED, UNSIGNED, FLOAT, HALF };

#define FORM(type, name, kind, bits, ...) [INA_##type] = {kind, bits},

static const struct {
	enum kind kind;
	int bits;
} FORMS[] = {INA_TYPES(FORM)};

static bool is_integer(enum ina_type type)
{
	return FORMS[type].kind == SIGNED || FORMS[type].kind == UNSIGNED;
}

static bool is_unsigned(enum ina_type type)
{
	return FORMS[type].kind == UNSIGNED;
}

/* The bits of a type's significand, with the sign; no more than float32 has. */
static int digits_of(enum ina_type type)
{
	if (FORMS[type].kind == HALF)
		return type == INA_BFLOAT16 ? 9 : 12;
	return FORMS[type].bits < 25 ? FORMS[type].bits : 25;
}

/*
 * The bits of each rank's small integers. The significand of the type, with the sign, must also
 * hold the sum of all ranks; for an average it must hold the sum of n times all ranks. A result
 * below 1 means that there are too many ranks for one bit each.
 */
static int small_bits(const struct pattern *pattern)
{
	int bits = digits_of(pattern->type);

	for (int ranks = 1; ranks < pattern->ranks; ranks *= 2)
		bits -= pattern->op == INA_AVG ? 2 : 1;
	return bits < FLOAT32_INTEGER_BITS ? bits : FLOAT32_INTEGER_BITS;
}

/*
 * From -2^(bits - 1) to 2^(bits - 1) - 1. If not all ranks can add a bit, only every second, every
 * fourth and so on does, and these ranks differ from element to element.
 */
static int32_t small_integer(uint64_t word, int rank, size_t index, int bits)
{
	if (bits < 1) {
		if (((size_t)rank + index) % ((size_t)1 << (1 - bits)) != 0)
			return 0;
		bits = 1;
	}
	return (int32_t)(word >> (64 - bits)) - (1 << (bits - 1));
}

/* The number that these bits, or the lowest of them, represent in an integer type. */
static int64_t truncate(uint64_t bits, enum ina_type type)
{
	int unused = 64 - FORMS[type].bits;

	bits <<= unused;
	return is_unsigned(type) ? (int64_t)(bits >> unused) : (int64_t)bits >> unused;
}

/* True if the type can hold the number of ranks. */
static bool has_multiples(const struct pattern *pattern)
{
	return pattern->ranks < 1 << (digits_of(pattern->type) - !is_unsigned(pattern->type));
}

/* The value that a rank contributes, before it is encoded. */
static int64_t operand(const struct pattern *pattern, uint64_t base, int rank, size_t index,
                       int bits)
{
	uint64_t word = mix(base + index);
	int64_t small;

	if (is_integer(pattern->type) && pattern->op != INA_AVG)
		return truncate(word, pattern->type);
	if (pattern->op == INA_PROD) { /* so few twos that no type overflows */
		bool doubles = ((size_t)rank + index) % (size_t)pattern->ranks < MOST_TWOS;

		return (word & 1 ? -1 : 1) * (doubles && (word & 2) ? 2 : 1);
	}
	small = small_integer(word, rank, index, bits);
	if (pattern->op == INA_AVG)
		small *= has_multiples(pattern) ? pattern->ranks : 0;
	return is_unsigned(pattern->type) && small < 0 ? -small : small;
}

static int64_t combine(const struct pattern *pattern, int64_t a, int64_t b)
{
	bool is_greater = pattern->type == INA_UINT64 ? (uint64_t)a > (uint64_t)b : a > b;

	switch (pattern->op) {
	case INA_MAX:
		return is_greater ? a : b;
	case INA_MIN:
		return is_greater ? b : a;
	case INA_PROD:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	default:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	}
}

/* A power of two. The smallest one keeps a float16 well above its subnormals. */
static double scale_of(const struct pattern *pattern, size_t index)
{
	if (pattern->op == INA_PROD)
		return 1;
	return 1.0 / (1u << (index * 7 % (pattern->type == INA_FLOAT16 ? 8 : 16)));
}

/*
 * The bits of a number: for an integer type the lowest ones; a float type holds the number exactly,
 * and not as a subnormal.
 */
static uint64_t encode(const struct pattern *pattern, int64_t number, size_t index)
{
	double wide = (double)number * scale_of(pattern, index);
	float value = (float)wide;
	uint32_t bits;
	uint64_t wide_bits;

	if (is_integer(pattern->type))
		return (uint64_t)number & UINT64_MAX >> (64 - FORMS[pattern->type].bits);
	memcpy(&bits, &value, sizeof(bits));
	memcpy(&wide_bits, &wide, sizeof(wide_bits));
	if (pattern->type == INA_FLOAT64)
		return wide_bits;
	if (pattern->type == INA_BFLOAT16)
		return bits >> 16;
	if (pattern->type == INA_FLOAT16 && value != 0) /* bias 15, not 127; 10 bits, not 23 */
		return (bits >> 16 & 0x8000) | ((bits & 0x7FFFFFFF) - (112u << 23)) >> 13;
	return bits;
}

static uint64_t get(const void *elements, size_t i, size_t bytes)
{
	switch (bytes) {
	case 1:
		return ((const uint8_t *)elements)[i];
	case 2:
		return ((const uint16_t *)elements)[i];
	case 4:
		return ((const uint32_t *)elements)[i];
	default:
		return ((const uint64_t *)elements)[i];
	}
}

static void put(void *elements, size_t i, size_t bytes, uint64_t bits)
{
	switch (bytes) {
	case 1:
		((uint8_t *)elements)[i] = (uint8_t)bits;
		break;
	case 2:
		((uint16_t *)elements)[i] = (uint16_t)bits;
		break;
	case 4:
		((uint32_t *)elements)[i] = (uint32_t)bits;
		break;
	default:
		((uint64_t *)elements)[i] = bits;
	}
}

void pattern_fill(const struct pattern *pattern, int rank, void *elements, size_t count)
{
	size_t bytes = ina_type_size(pattern->type);
	uint64_t base = base_of(pattern->seed, rank);
	int bits = small_bits(pattern);

	for (size_t i = 0; i < count; i++) {
		size_t index = pattern->offset + i;

		put(elements, i, bytes,
		    encode(pattern, operand(pattern, base, rank, index, bits), index));
	}
}

static uint64_t expected_bits(const struct pattern *pattern, const uint64_t *bases, int bits,
                              size_t index)
{
	int64_t result = operand(pattern, bases[0], 0, index, bits);

	for (int r = 1; r < pattern->ranks; r++)
		result = combine(pattern, result, operand(pattern, bases[r], r, index, bits));
	if (pattern->op == INA_AVG)
		result /= pattern->ranks; /* exact, since every operand is a multiple of it */
	return encode(pattern, result, index);
}

/* For all |x| < 2^e and s a sum of them: n 2^(e + log2 n - 31) + |s| 2^-24. */
double pattern_fixed_bound(int ranks)
{
	double largest = (double)(1 << FLOAT32_INTEGER_BITS); /* 2^e, since -2^(bits - 1) occurs */
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

/* Whether two different elements differ by no more than the slack. */
static bool is_near(const struct pattern *pattern, uint64_t got, uint64_t expected,
                    double *farthest)
{
	double difference;

	if (pattern->slack == 0 || pattern->type != INA_FLOAT32)
		return false;
	difference = (double)float_of((uint32_t)got) - (double)float_of((uint32_t)expected);
	difference = difference < 0 ? -difference : difference;
	if (farthest && difference > *farthest)
		*farthest = difference;
	return difference <= pattern->slack; /* false for NaN */
}

uint64_t pattern_check(const struct pattern *pattern, const void *elements, size_t count,
                       size_t *first, double *farthest)
{
	size_t bytes = ina_type_size(pattern->type);
	int bits = small_bits(pattern);
	uint64_t bases[INA_MAX_RANKS];
	uint64_t wrong = 0;

	for (int r = 0; r < pattern->ranks; r++)
		bases[r] = base_of(pattern->seed, r);
	for (size_t i = 0; i < count; i++) {
		uint64_t expected = expected_bits(pattern, bases, bits, pattern->offset + i);
		uint64_t got = get(elements, i, bytes);

		if (got == expected || is_near(pattern, got, expected, farthest))
			continue;
		if (wrong++ == 0)
			*first = i;
	}
	return wrong;
}
