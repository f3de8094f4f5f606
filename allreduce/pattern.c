/* SPDX-License-Identifier: Apache-2.0 */
/* Test data whose sum is known. */
#include "pattern.h"

#include <string.h>

#define INTEGER_BITS 17
#define SCALES       16

/* splitmix64's output function (Steele, Lea, Flood 2014): every input bit moves every output bit.
 */
static uint64_t mix(uint64_t x)
{
	x += 0x9E3779B97F4A7C15u;
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
	x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
	return x ^ (x >> 31);
}

static uint64_t base_of(uint64_t seed, int rank)
{
	return mix(mix(seed) + (uint64_t)rank);
}

/* -2^16 to 2^16 - 1. */
static int32_t small_integer(uint64_t base, size_t index)
{
	return (int32_t)(mix(base + index) >> (64 - INTEGER_BITS)) - (1 << (INTEGER_BITS - 1));
}

static float scale_of(size_t index)
{
	return 1.0f / (float)(1u << (index * 7 % SCALES));
}

void pattern_fill(void *elements, size_t count, enum ina_type type, uint64_t seed, int rank)
{
	uint64_t base = base_of(seed, rank);
	uint32_t *integers = elements;
	float *floats = elements;

	if (type == INA_INT32) {
		for (size_t i = 0; i < count; i++)
			integers[i] = (uint32_t)mix(base + i);
	} else {
		for (size_t i = 0; i < count; i++)
			floats[i] = (float)small_integer(base, i) * scale_of(i);
	}
}

static uint32_t expected_bits(const uint64_t *bases, int ranks, size_t index, enum ina_type type)
{
	uint32_t sum = 0;
	uint32_t bits;
	float value;

	if (type == INA_INT32) {
		for (int r = 0; r < ranks; r++)
			sum += (uint32_t)mix(bases[r] + index);
		return sum;
	}
	for (int r = 0; r < ranks; r++)
		sum += (uint32_t)small_integer(bases[r], index);
	value = (float)(int32_t)sum * scale_of(index);
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

uint64_t pattern_check(const void *elements, size_t count, enum ina_type type, uint64_t seed,
                       int ranks, size_t *first)
{
	const uint32_t *got = elements;
	uint64_t bases[INA_MAX_RANKS];
	uint64_t wrong = 0;

	for (int r = 0; r < ranks; r++)
		bases[r] = base_of(seed, r);
	for (size_t i = 0; i < count; i++) {
		uint32_t expected = expected_bits(bases, ranks, i, type);

		if (got[i] == expected)
			continue;
		if (wrong++ == 0)
			*first = i;
	}
	return wrong;
}
