/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise operations, in loops without branches that the compiler turns into vector code:
 * each() is the loop, and is inlined once for every operation.
 */
#include "reduce.h"

#include <string.h>

#include "float16.h"
#include "rounding.h"
#include "common/vector.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#define FLOAT32_MAGNITUDE 0x7FFFFFFFu
#define FLOAT32_INFINITY  0x7F800000u
#define FLOAT32_NAN       0x7FC00000u
#define BFLOAT16_INFINITY 0x7F80u
#define BFLOAT16_NAN      0x7FC0u
#define FLOAT16_INFINITY  0x7C00u
#define FLOAT16_NAN       0x7E00u

/* Elements lie anywhere, and are looked at as numbers and as bits. */
typedef uint32_t __attribute__((aligned(1), may_alias)) element32;
typedef uint16_t __attribute__((aligned(1), may_alias)) element16;

ALWAYS_INLINE void each32(void *result, const void *restrict a, const void *b, size_t count,
                          uint32_t (*combine)(uint32_t, uint32_t))
{
	element32 *to = result;
	const element32 *restrict left = a;
	const element32 *right = b;

	for (size_t i = 0; i < count; i++)
		to[i] = combine(left[i], right[i]);
}

ALWAYS_INLINE void each16(void *result, const void *restrict a, const void *b, size_t count,
                          uint16_t (*combine)(uint16_t, uint16_t))
{
	element16 *to = result;
	const element16 *restrict left = a;
	const element16 *right = b;

	for (size_t i = 0; i < count; i++)
		to[i] = combine(left[i], right[i]);
}

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

/* Sums. */

INA_VECTOR static bool sum_int32(void *result, const void *restrict a, const void *b, size_t count)
{
	element32 *to = result;
	const element32 *restrict left = a;
	const element32 *right = b;
	uint32_t overflow = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t sum = left[i] + right[i];

		/* The sign bit is set where both operands have a sign that the sum has not. */
		overflow |= (left[i] ^ sum) & (right[i] ^ sum);
		to[i] = sum;
	}
	return overflow >> 31;
}

ALWAYS_INLINE uint32_t sum_float32(uint32_t a, uint32_t b)
{
	uint32_t sum = bits_of(float_of(a) + float_of(b));

	return (sum & FLOAT32_MAGNITUDE) > FLOAT32_INFINITY ? FLOAT32_NAN : sum;
}

/* To nearest, ties to even: a carry out of the fraction is the next exponent, infinity at last. */
ALWAYS_INLINE uint16_t sum_bfloat16(uint16_t a, uint16_t b)
{
	uint32_t sum = bits_of(float_of((uint32_t)a << 16) + float_of((uint32_t)b << 16));
	uint32_t rounded = (sum + 0x7FFF + (sum >> 16 & 1)) >> 16;

	return (sum & FLOAT32_MAGNITUDE) > FLOAT32_INFINITY ? BFLOAT16_NAN : (uint16_t)rounded;
}

/* binary16: exponent bias 15, 10 bits of fraction; float32: 127 and 23. */
ALWAYS_INLINE float widen_float16(uint16_t half)
{
	uint32_t moved = (uint32_t)(half & 0x7FFF) << 13;
	uint32_t normal = moved + ((127u - 15) << 23);
	uint32_t special = moved + ((255u - 31) << 23);
	/* A subnormal is a fraction of 2^-14 with no leading one: 2^-14 more, and less again. */
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
	/* Added to 0.5, whose last place is 2^-24, the smallest float16, it is rounded to that. */
	uint32_t tiny = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
	uint32_t rounded = magnitude < 113u << 23 ? tiny : normal;

	/* 65520 is halfway between the largest finite float16 and the next, which is infinity. */
	rounded = magnitude >= 0x477FF000u ? FLOAT16_INFINITY : rounded;
	return magnitude > FLOAT32_INFINITY ? FLOAT16_NAN : (uint16_t)(sign | rounded);
}

ALWAYS_INLINE uint16_t sum_float16(uint16_t a, uint16_t b)
{
	return round_float16(widen_float16(a) + widen_float16(b));
}

/*
 * The larger and the smaller one. With the magnitude inverted where the sign is set, floats are in
 * the order of their bits as signed integers, -0 before +0: no number need be widened.
 */

ALWAYS_INLINE int32_t order32(uint32_t bits)
{
	return (int32_t)(bits ^ ((uint32_t)((int32_t)bits >> 31) & FLOAT32_MAGNITUDE));
}

ALWAYS_INLINE int16_t order16(uint16_t bits)
{
	return (int16_t)(bits ^ (((int16_t)bits >> 15) & 0x7FFF));
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

ALWAYS_INLINE uint32_t max_int32(uint32_t a, uint32_t b)
{
	return (int32_t)a > (int32_t)b ? a : b;
}

ALWAYS_INLINE uint32_t min_int32(uint32_t a, uint32_t b)
{
	return (int32_t)a < (int32_t)b ? a : b;
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

INA_VECTOR static void reduce_float32(void *result, const void *a, const void *b, size_t count,
                                      enum ina_op op)
{
	if (op == INA_SUM)
		each32(result, a, b, count, sum_float32);
	else if (op == INA_MAX)
		each32(result, a, b, count, max_float32);
	else
		each32(result, a, b, count, min_float32);
}

INA_VECTOR static void reduce_bfloat16(void *result, const void *a, const void *b, size_t count,
                                       enum ina_op op)
{
	if (op == INA_SUM)
		each16(result, a, b, count, sum_bfloat16);
	else if (op == INA_MAX)
		each16(result, a, b, count, max_bfloat16);
	else
		each16(result, a, b, count, min_bfloat16);
}

INA_VECTOR static void reduce_float16(void *result, const void *a, const void *b, size_t count,
                                      enum ina_op op)
{
	if (op == INA_SUM)
		each16(result, a, b, count, sum_float16);
	else if (op == INA_MAX)
		each16(result, a, b, count, max_float16);
	else
		each16(result, a, b, count, min_float16);
}

/* What is left of a sum by vectors, or all of it, goes by shifts and masks. */
static __attribute__((noinline)) void
reduce_float16_fast(void *result, const void *a, const void *b, size_t count, enum ina_op op)
{
	size_t done = op == INA_SUM ? ina_float16_sum(result, a, b, count) : 0;
	size_t bytes = done * sizeof(uint16_t);

	reduce_float16((uint8_t *)result + bytes, (const uint8_t *)a + bytes,
	               (const uint8_t *)b + bytes, count - done, op);
}

INA_VECTOR static bool reduce_int32(void *result, const void *a, const void *b, size_t count,
                                    enum ina_op op)
{
	if (op == INA_SUM)
		return sum_int32(result, a, b, count);
	if (op == INA_MAX)
		each32(result, a, b, count, max_int32);
	else
		each32(result, a, b, count, min_int32);
	return false;
}

bool ina_reduce(void *result, const void *a, const void *b, size_t count, enum ina_type type,
                enum ina_op op)
{
	uint64_t mode = ina_rounding_begin();
	bool overflow = false;

	switch (type) {
	case INA_INT32:
		overflow = reduce_int32(result, a, b, count, op);
		break;
	case INA_FLOAT32:
		reduce_float32(result, a, b, count, op);
		break;
	case INA_BFLOAT16:
		reduce_bfloat16(result, a, b, count, op);
		break;
	case INA_FLOAT16:
		reduce_float16_fast(result, a, b, count, op);
		break;
	}
	ina_rounding_end(mode);
	return overflow;
}
