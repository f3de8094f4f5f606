/* SPDX-License-Identifier: Apache-2.0 */
/* Block floating point, in loops that the compiler turns into vector code. */
#include "block_float.h"

#include <string.h>

#include "common/vector.h"
#include "rounding.h"

#define MAGNITUDE 0x7FFFFFFFu
#define INFINITE  0x7F800000u

/*
 * The bits of an int32 without its sign, less one because |x| must be less than 2^e on all ranks.
 */
#define VALUE_BITS 30

typedef uint32_t __attribute__((aligned(1), may_alias)) element32;

/* A power of two may be too large for a float, so it is the product of two factors. */
struct scale {
	float first;
	float second;
};

static float power_of_two(int exponent)
{
	uint32_t bits = (uint32_t)(exponent + 127) << 23;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* 2^exponent, for exponents from -250 to 250. */
static struct scale make_scale(int exponent)
{
	int half = exponent / 2;

	return (struct scale){power_of_two(half), power_of_two(exponent - half)};
}

static int unit_exponent(int32_t exponent, int ranks)
{
	int unit = exponent - VALUE_BITS;

	for (int n = 1; n < ranks; n *= 2)
		unit++;
	return unit;
}

static inline float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* The bits of the largest magnitude; bits of magnitudes compare like the magnitudes. */
INA_VECTOR static int32_t largest_of(const element32 *bits, size_t count)
{
	int32_t largest = 0;

	for (size_t i = 0; i < count; i++) {
		int32_t magnitude = (int32_t)(bits[i] & MAGNITUDE);

		largest = magnitude > largest ? magnitude : largest;
	}
	return largest;
}

int32_t ina_block_float_exponent(const void *elements, size_t count)
{
	int32_t largest = largest_of(elements, count);

	if ((uint32_t)largest >= INFINITE)
		return INA_BLOCK_FLOAT_NONE;
	return (largest >> 23) + INA_BLOCK_FLOAT_MIN;
}

#define INTEGERS_ONLY 0x4B000000u /* 2^23: from here on, every float is an integer */

/* Below 2^23, adding and subtracting 2^23 rounds the fraction off. */
static inline int32_t round_to_integer(float value)
{
	uint32_t bits = bits_of(value);
	uint32_t magnitude = bits & MAGNITUDE;
	uint32_t rounded = bits_of(float_of(magnitude) + 8388608.0f - 8388608.0f);
	int32_t integer = (int32_t)float_of(magnitude < INTEGERS_ONLY ? rounded : magnitude);
	int32_t negative = (int32_t)bits >> 31;

	return (integer ^ negative) - negative;
}

INA_VECTOR static void quantize(element32 *restrict integers, const element32 *restrict elements,
                                size_t count, struct scale scale)
{
	for (size_t i = 0; i < count; i++)
		integers[i] = (uint32_t)round_to_integer(float_of(elements[i]) * scale.first *
		                                         scale.second);
}

void ina_block_float_quantize(void *restrict integers, const void *restrict elements, size_t count,
                              int32_t exponent, int ranks)
{
	uint64_t mode = ina_rounding_begin();

	quantize(integers, elements, count, make_scale(-unit_exponent(exponent, ranks)));
	ina_rounding_end(mode);
}

INA_VECTOR static void restore(element32 *sums, size_t count, struct scale scale)
{
	for (size_t i = 0; i < count; i++)
		sums[i] = bits_of((float)(int32_t)sums[i] * scale.first * scale.second);
}

void ina_block_float_restore(void *sums, size_t count, int32_t exponent, int ranks)
{
	uint64_t mode = ina_rounding_begin();

	restore(sums, count, make_scale(unit_exponent(exponent, ranks)));
	ina_rounding_end(mode);
}
