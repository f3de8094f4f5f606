/* SPDX-License-Identifier: Apache-2.0 */
/* Makes addends from elements, and averages from sums. */
#include "average.h"

#include "combine.h"
#include "common/vector.h"
#include "number.h"
#include "rounding.h"

/* Elements that are copied, and then changed in place while they are in the cache. */
#define BLOCK ((size_t)1024)

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

/*
 * begin_TYPE() makes the addends from the elements, and end_TYPE() the averages from the sums. A
 * float is divided by `power`, and a sum of floats by ranks / power; both quotients are exact.
 */

/* For 16-bit floats, whose addends are float32. */
#define AVERAGE_HALF_ONE(name, bits)                                                               \
	INA_VECTOR static void begin_##name(void *addends, const void *elements, size_t count,     \
	                                    int ranks)                                             \
	{                                                                                          \
		element32 *restrict to = addends;                                                  \
		const element16 *restrict from = elements;                                         \
		const float factor = 1.0f / (float)power_above(ranks);                             \
                                                                                                   \
		for (size_t i = 0; i < count; i++)                                                 \
			to[i] = float32_bits(widen_##name(from[i]) * factor);                      \
	}                                                                                          \
                                                                                                   \
	INA_VECTOR static void end_##name(void *averages, const void *sums, size_t count,          \
	                                  int ranks)                                               \
	{                                                                                          \
		element16 *restrict to = averages;                                                 \
		const element32 *restrict from = sums;                                             \
		const float divisor = (float)ranks / (float)power_above(ranks);                    \
                                                                                                   \
		for (size_t i = 0; i < count; i++)                                                 \
			to[i] = round_##name(float_of(from[i]) / divisor);                         \
	}

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
 * For floats whose addends have the same type, and may be in the same memory. A sum of finite
 * numbers is finite, but rounding may have increased it until its quotient is infinite. In that
 * case the average is the largest finite number.
 */
#define KEPT(name, bits, number, of, to_bits, infinity)                                            \
	INA_VECTOR static void scale_##name(element##bits *elements, size_t count, number factor)  \
	{                                                                                          \
		for (size_t i = 0; i < count; i++)                                                 \
			elements[i] = to_bits(of(elements[i]) * factor);                           \
	}                                                                                          \
                                                                                                   \
	INA_VECTOR static void divide_##name(element##bits *sums, size_t count, number divisor)    \
	{                                                                                          \
		const element##bits magnitude = ~(element##bits)0 >> 1;                            \
                                                                                                   \
		for (size_t i = 0; i < count; i++) {                                               \
			element##bits quotient = to_bits(of(sums[i]) / divisor);                   \
			element##bits exceeds = (quotient & magnitude) == (infinity) &&            \
			                        (sums[i] & magnitude) != (infinity);               \
                                                                                                   \
			sums[i] = quotient - exceeds;                                              \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	static void begin_##name(void *addends, const void *elements, size_t count, int ranks)     \
	{                                                                                          \
		element##bits *to = addends;                                                       \
                                                                                                   \
		for (size_t done = 0; done < count; done += BLOCK)                                 \
			scale_##name(to + done,                                                    \
			             copy_block(to, elements, done, count, sizeof(*to)),           \
			             (number)1 / (number)power_above(ranks));                      \
	}                                                                                          \
                                                                                                   \
	static void end_##name(void *averages, const void *sums, size_t count, int ranks)          \
	{                                                                                          \
		element##bits *to = averages;                                                      \
                                                                                                   \
		for (size_t done = 0; done < count; done += BLOCK)                                 \
			divide_##name(to + done, copy_block(to, sums, done, count, sizeof(*to)),   \
			              (number)ranks / (number)power_above(ranks));                 \
	}

#define AVERAGE_FLOAT_ONE(name, bits) KEPT_##bits(name)

#define KEPT_32(name) KEPT(name, 32, float, float_of, float32_bits, FLOAT32_INFINITY)
#define KEPT_64(name) KEPT(name, 64, double, double_of, float64_bits, FLOAT64_INFINITY)

typedef int32_t __attribute__((aligned(1), may_alias)) half32;
typedef int64_t __attribute__((aligned(1), may_alias)) half64;

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

/* For integers that are split into two halves. Their sum is upper * 2^(bits / 2) + lower. */
#define AVERAGE_INTEGER_TWO(name, bits)                                                            \
	INA_VECTOR static void begin_##name(void *addends, const void *elements, size_t count,     \
	                                    int ranks)                                             \
	{                                                                                          \
		half##bits *restrict to = addends;                                                 \
		const element##bits *restrict from = elements;                                     \
                                                                                                   \
		(void)ranks;                                                                       \
		for (size_t i = 0; i < count; i++) {                                               \
			to[2 * i] = (half##bits)((name##_t)from[i] >> bits / 2);                   \
			to[2 * i + 1] =                                                            \
			        (half##bits)(from[i] & (((element##bits)1 << bits / 2) - 1));      \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	static void end_##name(void *averages, const void *sums, size_t count, int ranks)          \
	{                                                                                          \
		element##bits *restrict to = averages;                                             \
		const half##bits *restrict from = sums;                                            \
                                                                                                   \
		for (size_t i = 0; i < count; i++)                                                 \
			to[i] = (element##bits)divide(from[2 * i], from[2 * i + 1], bits / 2,      \
			                              ranks);                                      \
	}

/* For integers whose sums int32 can hold. */
#define AVERAGE_INTEGER_ONE(name, bits)                                                            \
	INA_VECTOR static void begin_##name(void *addends, const void *elements, size_t count,     \
	                                    int ranks)                                             \
	{                                                                                          \
		half32 *restrict to = addends;                                                     \
		const element##bits *restrict from = elements;                                     \
                                                                                                   \
		(void)ranks;                                                                       \
		for (size_t i = 0; i < count; i++)                                                 \
			to[i] = (name##_t)from[i];                                                 \
	}                                                                                          \
                                                                                                   \
	static void end_##name(void *averages, const void *sums, size_t count, int ranks)          \
	{                                                                                          \
		element##bits *restrict to = averages;                                             \
		const half32 *restrict from = sums;                                                \
                                                                                                   \
		for (size_t i = 0; i < count; i++)                                                 \
			to[i] = (element##bits)(from[i] / ranks);                                  \
	}

#define AVERAGE_SIGNED_ONE   AVERAGE_INTEGER_ONE
#define AVERAGE_UNSIGNED_ONE AVERAGE_INTEGER_ONE
#define AVERAGE_SIGNED_TWO   AVERAGE_INTEGER_TWO
#define AVERAGE_UNSIGNED_TWO AVERAGE_INTEGER_TWO
#define AVERAGE(type, name, kind, bits, sum, order, addend, addends)                               \
	AVERAGE_##kind##_##addends(name, bits)
INA_TYPES(AVERAGE)

#define ADDENDS_ONE 1
#define ADDENDS_TWO 2
#define ROW(type, name, kind, bits, sum, order, addend, addends)                                   \
	[INA_##type] = {INA_##addend, ADDENDS_##addends, begin_##name, end_##name},

static const struct {
	enum ina_type addend;
	size_t addends; /* for each element */
	void (*begin)(void *addends, const void *elements, size_t count, int ranks);
	void (*end)(void *averages, const void *sums, size_t count, int ranks);
} AVERAGES[] = {INA_TYPES(ROW)};

enum ina_type ina_average_type(enum ina_type type)
{
	return AVERAGES[type].addend;
}

size_t ina_average_bytes(enum ina_type type)
{
	return AVERAGES[type].addends * ina_type_bytes(AVERAGES[type].addend);
}

void ina_average_begin(void *addends, const void *elements, size_t count, enum ina_type type,
                       int ranks)
{
	uint64_t mode = ina_rounding_begin();

	AVERAGES[type].begin(addends, elements, count, ranks);
	ina_rounding_end(mode);
}

void ina_average_end(void *averages, const void *sums, size_t count, enum ina_type type, int ranks)
{
	uint64_t mode = ina_rounding_begin();

	AVERAGES[type].end(averages, sums, count, ranks);
	ina_rounding_end(mode);
}
