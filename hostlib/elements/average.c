/* SPDX-License-Identifier: Apache-2.0 */
/* Makes addends from elements, and averages from sums. */
#include "average.h"

#include "combine.h"
#include "common/vector.h"
#include "number.h"
#include "rounding.h"

typedef uint8_t __attribute__((may_alias)) element8;
typedef uint16_t __attribute__((aligned(1), may_alias)) element16;
typedef uint32_t __attribute__((aligned(1), may_alias)) element32;
typedef uint64_t __attribute__((aligned(1), may_alias)) element64;

/* Elements that are copied, and then changed in place while they are in the cache. */
#define BLOCK ((size_t)1024)

enum ina_type ina_average_type(enum ina_type type)
{
	switch (type) {
	case INA_BFLOAT16:
	case INA_FLOAT16:
	case INA_FLOAT32:
		return INA_FLOAT32;
	case INA_FLOAT64:
		return INA_FLOAT64;
	case INA_UINT8:
	case INA_INT32:
	case INA_UINT32:
		return INA_INT32;
	default:
		return INA_INT64;
	}
}

static bool has_halves(enum ina_type type)
{
	return type == INA_INT32 || type == INA_UINT32 || type == INA_INT64 || type == INA_UINT64;
}

size_t ina_average_bytes(enum ina_type type)
{
	return ina_type_bytes((int)ina_average_type(type)) * (has_halves(type) ? 2 : 1);
}

/*
 * The smallest power of two greater than the number of ranks. It must not be equal to that number:
 * a sum of `ranks` addends of the largest size then has room to be rounded up.
 */
static int power_above(int ranks)
{
	int power = 1;

	while (power <= ranks)
		power *= 2;
	return power;
}

/* begin_TYPE() and end_TYPE() for 16-bit floats, whose addends are float32. */
#define WIDENED(type)                                                                              \
	INA_VECTOR static void begin_##type(element32 *restrict to,                                \
	                                    const element16 *restrict from, size_t count,          \
	                                    float factor)                                          \
	{                                                                                          \
		for (size_t i = 0; i < count; i++)                                                 \
			to[i] = float32_bits(widen_##type(from[i]) * factor);                      \
	}                                                                                          \
                                                                                                   \
	INA_VECTOR static void end_##type(element16 *restrict to, const element32 *restrict from,  \
	                                  size_t count, float divisor)                             \
	{                                                                                          \
		for (size_t i = 0; i < count; i++)                                                 \
			to[i] = round_##type(float_of(from[i]) / divisor);                         \
	}

WIDENED(bfloat16)
WIDENED(float16)

/*
 * Copies the next block if source and destination differ. Returns the number of elements in the
 * block.
 */
static size_t copy_block(void *to, const void *from, size_t done, size_t count, size_t bytes)
{
	size_t length = count - done < BLOCK ? count - done : BLOCK;

	if (to != from)
		memcpy((uint8_t *)to + done * bytes, (const uint8_t *)from + done * bytes,
		       length * bytes);
	return length;
}

/*
 * begin_TYPE() and end_TYPE() for floats whose addends have the same type, and may be in the same
 * memory. A sum of finite numbers is finite, but rounding may have increased it until its quotient
 * is infinite. In that case the average is the largest finite number.
 */
#define KEPT(type, element, number, of, bits, infinity)                                            \
	INA_VECTOR static void scale_##type(element *elements, size_t count, number factor)        \
	{                                                                                          \
		for (size_t i = 0; i < count; i++)                                                 \
			elements[i] = bits(of(elements[i]) * factor);                              \
	}                                                                                          \
                                                                                                   \
	INA_VECTOR static void divide_##type(element *sums, size_t count, number divisor)          \
	{                                                                                          \
		const element magnitude = ~(element)0 >> 1;                                        \
                                                                                                   \
		for (size_t i = 0; i < count; i++) {                                               \
			element quotient = bits(of(sums[i]) / divisor);                            \
			element exceeds = (quotient & magnitude) == (infinity) &&                  \
			                  (sums[i] & magnitude) != (infinity);                     \
                                                                                                   \
			sums[i] = quotient - exceeds;                                              \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	static void begin_##type(element *to, const element *from, size_t count, number factor)    \
	{                                                                                          \
		for (size_t done = 0; done < count; done += BLOCK)                                 \
			scale_##type(to + done, copy_block(to, from, done, count, sizeof(*to)),    \
			             factor);                                                      \
	}                                                                                          \
                                                                                                   \
	static void end_##type(element *to, const element *from, size_t count, number divisor)     \
	{                                                                                          \
		for (size_t done = 0; done < count; done += BLOCK)                                 \
			divide_##type(to + done, copy_block(to, from, done, count, sizeof(*to)),   \
			              divisor);                                                    \
	}

KEPT(float32, element32, float, float_of, float32_bits, FLOAT32_INFINITY)
KEPT(float64, element64, double, double_of, float64_bits, FLOAT64_INFINITY)

/*
 * halve_TYPE() and join_TYPE() for integers that are split into two halves. Their sum is upper *
 * 2^bits + lower.
 */
#define HALVED(type, integer, element, half, bits)                                                 \
	INA_VECTOR static void halve_##type(half *restrict to, const element *restrict from,       \
	                                    size_t count)                                          \
	{                                                                                          \
		for (size_t i = 0; i < count; i++) {                                               \
			to[2 * i] = (half)((integer)from[i] >> (bits));                            \
			to[2 * i + 1] = (half)(from[i] & (((element)1 << (bits)) - 1));            \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	static void join_##type(element *restrict to, const half *restrict from, size_t count,     \
	                        int ranks)                                                         \
	{                                                                                          \
		for (size_t i = 0; i < count; i++)                                                 \
			to[i] = (element)divide((int64_t)from[2 * i], (int64_t)from[2 * i + 1],    \
			                        bits, ranks);                                      \
	}

/* The lowest 64 bits of (upper * 2^bits + lower) / ranks, rounded towards zero. lower >= 0. */
static inline uint64_t divide(int64_t upper, int64_t lower, int bits, int ranks)
{
	const int64_t mask = ((int64_t)1 << bits) - 1;
	uint64_t quotient;
	bool negative;

	upper += lower >> bits;
	lower &= mask;
	negative = upper < 0;
	if (negative) {
		upper = -upper - (lower > 0);
		lower = lower > 0 ? mask + 1 - lower : 0;
	}
	quotient = ((uint64_t)(upper / ranks) << bits) +
	           (uint64_t)((((upper % ranks) << bits) + lower) / ranks);
	return negative ? 0 - quotient : quotient;
}

typedef int32_t __attribute__((aligned(1), may_alias)) half32;
typedef int64_t __attribute__((aligned(1), may_alias)) half64;

HALVED(int32, int32_t, element32, half32, 16)
HALVED(uint32, uint32_t, element32, half32, 16)
HALVED(int64, int64_t, element64, half64, 32)
HALVED(uint64, uint64_t, element64, half64, 32)

INA_VECTOR static void begin_uint8(half32 *restrict to, const element8 *restrict from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = from[i];
}

static void end_uint8(element8 *restrict to, const half32 *restrict from, size_t count, int ranks)
{
	for (size_t i = 0; i < count; i++)
		to[i] = (uint8_t)(from[i] / ranks);
}

static __attribute__((noinline)) void begin(void *to, const void *from, size_t count,
                                            enum ina_type type, int ranks)
{
	double factor = 1.0 / power_above(ranks);

	switch (type) {
	case INA_BFLOAT16:
		begin_bfloat16(to, from, count, (float)factor);
		break;
	case INA_FLOAT16:
		begin_float16(to, from, count, (float)factor);
		break;
	case INA_FLOAT32:
		begin_float32(to, from, count, (float)factor);
		break;
	case INA_FLOAT64:
		begin_float64(to, from, count, factor);
		break;
	case INA_UINT8:
		begin_uint8(to, from, count);
		break;
	case INA_INT32:
		halve_int32(to, from, count);
		break;
	case INA_UINT32:
		halve_uint32(to, from, count);
		break;
	case INA_INT64:
		halve_int64(to, from, count);
		break;
	case INA_UINT64:
		halve_uint64(to, from, count);
		break;
	}
}

static __attribute__((noinline)) void end(void *to, const void *from, size_t count,
                                          enum ina_type type, int ranks)
{
	double divisor = (double)ranks / power_above(ranks);

	switch (type) {
	case INA_BFLOAT16:
		end_bfloat16(to, from, count, (float)divisor);
		break;
	case INA_FLOAT16:
		end_float16(to, from, count, (float)divisor);
		break;
	case INA_FLOAT32:
		end_float32(to, from, count, (float)divisor);
		break;
	case INA_FLOAT64:
		end_float64(to, from, count, divisor);
		break;
	case INA_UINT8:
		end_uint8(to, from, count, ranks);
		break;
	case INA_INT32:
		join_int32(to, from, count, ranks);
		break;
	case INA_UINT32:
		join_uint32(to, from, count, ranks);
		break;
	case INA_INT64:
		join_int64(to, from, count, ranks);
		break;
	case INA_UINT64:
		join_uint64(to, from, count, ranks);
		break;
	}
}

void ina_average_begin(void *addends, const void *elements, size_t count, enum ina_type type,
                       int ranks)
{
	uint64_t mode = ina_rounding_begin();

	begin(addends, elements, count, type, ranks);
	ina_rounding_end(mode);
}

void ina_average_end(void *averages, const void *sums, size_t count, enum ina_type type, int ranks)
{
	uint64_t mode = ina_rounding_begin();

	end(averages, sums, count, type, ranks);
	ina_rounding_end(mode);
}
