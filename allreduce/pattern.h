/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test data with a known result: element i of a rank is a hash of (seed, rank, i).
 *
 * - Integers use all bits, so there are negative numbers, and sums and products wrap.
 * - Floats are integers times a power of two that all ranks share. The integers have 17 bits for
 *   float32 and float64, or as many as leave room for the ranks. If a type has no room for one bit
 *   of each rank, some ranks contribute zeros. So additions are exact in any order, and the
 * expected sum is computed in integers.
 * - For averages, all types use such integers times the number of ranks. From 256 ranks on, uint8
 *   and bfloat16, which cannot represent that number, use zeros.
 * - Products of floats use 1, -1, and at most 8 factors of 2 or -2.
 */
#ifndef INA_PATTERN_H
#define INA_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "hostlib/include/ina.h"

struct pattern {
	enum ina_type type;
	enum ina_op op;
	uint64_t seed;
	int ranks;
	size_t offset; /* index of the first element */
	double slack;  /* largest allowed error of a float32; 0: every bit must be right */
};

/* The largest error of a float32 sum of these data in fixed point, by docs/protocol.md. */
double pattern_fixed_bound(int ranks);

/* Fills `count` elements with the contribution of a rank. */
void pattern_fill(const struct pattern *pattern, int rank, void *elements, size_t count);

/*
 * Counts the elements that differ from the result of all ranks, by any bit or by more than the
 * slack. *first: index of the first of them. *farthest: raised to the largest difference of a
 * float32; may be NULL.
 */
uint64_t pattern_check(const struct pattern *pattern, const void *elements, size_t count,
                       size_t *first, double *farthest);

#endif
