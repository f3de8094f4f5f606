/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Combines two elements, given and returned as bits, without branches, so that the compiler turns
 * loops over them into vector code.
 */
#ifndef INA_ELEMENTS_COMBINE_H
#define INA_ELEMENTS_COMBINE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "hostlib/tables/types.h"

/* Elements may have any alignment, and are accessed both as numbers and as bits. */
typedef uint8_t __attribute__((may_alias)) element8;
typedef uint16_t __attribute__((aligned(1), may_alias)) element16;
typedef uint32_t __attribute__((aligned(1), may_alias)) element32;
typedef uint64_t __attribute__((aligned(1), may_alias)) element64;

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#define FLOAT64_MAGNITUDE 0x7FFFFFFFFFFFFFFFu
#define FLOAT64_INFINITY  0x7FF0000000000000u
#define FLOAT64_NAN       0x7FF8000000000000u
#define FLOAT32_MAGNITUDE 0x7FFFFFFFu
#define FLOAT32_INFINITY  0x7F800000u
#define FLOAT32_NAN       0x7FC00000u
#define BFLOAT16_INFINITY 0x7F80u
#define BFLOAT16_NAN      0x7FC0u
#define FLOAT16_INFINITY  0x7C00u
#define FLOAT16_NAN       0x7E00u

ALWAYS_INLINE float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

ALWAYS_INLINE uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

ALWAYS_INLINE double double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

ALWAYS_INLINE uint64_t bits_of_double(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* The bits of a number; every NaN becomes the canonical one. */
ALWAYS_INLINE uint64_t float64_bits(double value)
{
	uint64_t bits = bits_of_double(value);

	return (bits & FLOAT64_MAGNITUDE) > FLOAT64_INFINITY ? FLOAT64_NAN : bits;
}

ALWAYS_INLINE uint32_t float32_bits(float value)
{
	uint32_t bits = bits_of(value);

	return (bits & FLOAT32_MAGNITUDE) > FLOAT32_INFINITY ? FLOAT32_NAN : bits;
}

ALWAYS_INLINE float widen_bfloat16(uint16_t half)
{
	return float_of((uint32_t)half << 16);
}

/*
 * Rounds to nearest, ties to even. A carry out of the fraction increments the exponent, up to
 * infinity.
 */
ALWAYS_INLINE uint16_t round_bfloat16(float value)
{
	uint32_t bits = bits_of(value);
	uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;

	return (bits & FLOAT32_MAGNITUDE) > FLOAT32_INFINITY ? BFLOAT16_NAN : (uint16_t)rounded;
}

/* binary16 has exponent bias 15 and 10 bits of fraction; float32 has 127 and 23. */
ALWAYS_INLINE float widen_float16(uint16_t half)
{
	uint32_t moved = (uint32_t)(half & 0x7FFF) << 13;
	uint32_t normal = moved + ((127u - 15) << 23);
	uint32_t special = moved + ((255u - 31) << 23);
	/* A subnormal has no leading one: adding 2^-14 and subtracting it again normalises it. */
	uint32_t tiny = bits_of(float_of(moved + (113u << 23)) - float_of(113u << 23));
	uint32_t magnitude = moved < 1u << 23 ? tiny : moved >= 31u << 23 ? special : normal;

	return float_of(magnitude | (uint32_t)(half & 0x8000) << 16);
}

ALWAYS_INLINE uint16_t round_float16(float value)
{
	uint32_t bits = bits_of(value);
	uint32_t magnitude = bits & FLOAT32_MAGNITUDE;
	uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
	uint32_t normal = (magnitude - (112u << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;
	/* Adding 0.5, whose last place is 2^-24, rounds to a multiple of the smallest float16. */
	uint32_t tiny = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
	uint32_t rounded = magnitude < 113u << 23 ? tiny : normal;

	/*
	 * 65520 is halfway between the largest finite float16 and the next number, which is
	 * infinity.
	 */
	rounded = magnitude >= 0x477FF000u ? FLOAT16_INFINITY : rounded;
	return magnitude > FLOAT32_INFINITY ? FLOAT16_NAN : (uint16_t)(sign | rounded);
}

/* sum_TYPE(), prod_TYPE(), max_TYPE() and min_TYPE() of integers. */
#define COMBINE_INTEGER(name, bits)                                                                \
	ALWAYS_INLINE uint##bits##_t sum_##name(uint##bits##_t a, uint##bits##_t b)                \
	{                                                                                          \
		return (uint##bits##_t)(a + b);                                                    \
	}                                                                                          \
                                                                                                   \
	/* Two uint16 would be multiplied as int, which their product may exceed. */               \
	ALWAYS_INLINE uint##bits##_t prod_##name(uint##bits##_t a, uint##bits##_t b)               \
	{                                                                                          \
		return (uint##bits##_t)(1u * a * b);                                               \
	}                                                                                          \
                                                                                                   \
	ALWAYS_INLINE uint##bits##_t max_##name(uint##bits##_t a, uint##bits##_t b)                \
	{                                                                                          \
		return (name##_t)a > (name##_t)b ? a : b;                                          \
	}                                                                                          \
                                                                                                   \
	ALWAYS_INLINE uint##bits##_t min_##name(uint##bits##_t a, uint##bits##_t b)                \
	{                                                                                          \
		return (name##_t)a < (name##_t)b ? a : b;                                          \
	}

#define COMBINE_SIGNED   COMBINE_INTEGER
#define COMBINE_UNSIGNED COMBINE_INTEGER
#define COMBINE_FLOAT(name, bits)
#define COMBINE_HALF(name, bits)
#define COMBINE(type, name, kind, bits, ...) COMBINE_##kind(name, bits)
INA_TYPES(COMBINE)

/* Sums and products of floats. */

ALWAYS_INLINE uint64_t sum_float64(uint64_t a, uint64_t b)
{
	return float64_bits(double_of(a) + double_of(b));
}

ALWAYS_INLINE uint64_t prod_float64(uint64_t a, uint64_t b)
{
	return float64_bits(double_of(a) * double_of(b));
}

ALWAYS_INLINE uint32_t sum_float32(uint32_t a, uint32_t b)
{
	return float32_bits(float_of(a) + float_of(b));
}

ALWAYS_INLINE uint32_t prod_float32(uint32_t a, uint32_t b)
{
	return float32_bits(float_of(a) * float_of(b));
}

/*
 * Maxima and minima of floats. If the magnitude is inverted when the sign is set, floats compare
 * like their bits as signed integers, and -0 comes before +0. So no 16-bit float has to be widened.
 */

ALWAYS_INLINE int64_t order64(uint64_t bits)
{
	return (int64_t)(bits ^ ((uint64_t)((int64_t)bits >> 63) & FLOAT64_MAGNITUDE));
}

ALWAYS_INLINE int32_t order32(uint32_t bits)
{
	return (int32_t)(bits ^ ((uint32_t)((int32_t)bits >> 31) & FLOAT32_MAGNITUDE));
}

ALWAYS_INLINE int16_t order16(uint16_t bits)
{
	return (int16_t)(bits ^ (((int16_t)bits >> 15) & 0x7FFF));
}

ALWAYS_INLINE bool any_nan64(uint64_t a, uint64_t b)
{
	return ((a & FLOAT64_MAGNITUDE) > FLOAT64_INFINITY) |
	       ((b & FLOAT64_MAGNITUDE) > FLOAT64_INFINITY);
}

ALWAYS_INLINE bool any_nan32(uint32_t a, uint32_t b)
{
	return ((a & FLOAT32_MAGNITUDE) > FLOAT32_INFINITY) |
	       ((b & FLOAT32_MAGNITUDE) > FLOAT32_INFINITY);
}

ALWAYS_INLINE bool any_nan16(uint16_t a, uint16_t b, uint16_t infinity)
{
	return ((a & 0x7FFF) > infinity) | ((b & 0x7FFF) > infinity);
}

ALWAYS_INLINE uint64_t max_float64(uint64_t a, uint64_t b)
{
	return any_nan64(a, b) ? FLOAT64_NAN : order64(a) > order64(b) ? a : b;
}

ALWAYS_INLINE uint64_t min_float64(uint64_t a, uint64_t b)
{
	return any_nan64(a, b) ? FLOAT64_NAN : order64(a) < order64(b) ? a : b;
}

ALWAYS_INLINE uint32_t max_float32(uint32_t a, uint32_t b)
{
	return any_nan32(a, b) ? FLOAT32_NAN : order32(a) > order32(b) ? a : b;
}

ALWAYS_INLINE uint32_t min_float32(uint32_t a, uint32_t b)
{
	return any_nan32(a, b) ? FLOAT32_NAN : order32(a) < order32(b) ? a : b;
}

ALWAYS_INLINE uint16_t max_bfloat16(uint16_t a, uint16_t b)
{
	return any_nan16(a, b, BFLOAT16_INFINITY) ? BFLOAT16_NAN : order16(a) > order16(b) ? a : b;
}

ALWAYS_INLINE uint16_t min_bfloat16(uint16_t a, uint16_t b)
{
	return any_nan16(a, b, BFLOAT16_INFINITY) ? BFLOAT16_NAN : order16(a) < order16(b) ? a : b;
}

ALWAYS_INLINE uint16_t max_float16(uint16_t a, uint16_t b)
{
	return any_nan16(a, b, FLOAT16_INFINITY) ? FLOAT16_NAN : order16(a) > order16(b) ? a : b;
}

ALWAYS_INLINE uint16_t min_float16(uint16_t a, uint16_t b)
{
	return any_nan16(a, b, FLOAT16_INFINITY) ? FLOAT16_NAN : order16(a) < order16(b) ? a : b;
}

#endif
