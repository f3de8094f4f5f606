/* SPDX-License-Identifier: Apache-2.0 */
/* SplitMix64 (Steele, Lea, Flood 2014): small, good enough for tests, equal on all machines. */
#ifndef INA_COMMON_RANDOM_H
#define INA_COMMON_RANDOM_H

#include <stdint.h>

/* Its output function: every input bit affects every output bit, and 0 stays 0. */
static inline uint64_t ina_mix(uint64_t value)
{
	value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
	value = (value ^ value >> 27) * 0x94D049BB133111EBu;
	return value ^ value >> 31;
}

/* The next number of the stream; its first state is the seed. */
static inline uint64_t ina_random(uint64_t *state)
{
	return ina_mix(*state += 0x9E3779B97F4A7C15u);
}

#endif
