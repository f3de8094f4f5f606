/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test data whose sum is known: element i of a rank is a hash of (seed, rank, i).
 *
 * Integers: all bits, so negative numbers, and sums and products that wrap. Floats: integers, of 17
 * bits in a float32 or float64, or of as many as leave room for the ranks, times a power of two
 * that all ranks share. Where a type has no room for a bit of each rank, some contribute zeros. So
 * additions are exact in any order, and the expected sum is made in integers. Averages: such
 * integers times the number of ranks, in all types; zeros in uint8 and bfloat16 from 256 ranks on,
 * which they do not count to. Products of floats: 1, -1, and at most 8 of 2 or -2.
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
	size_t offset; /* of the first element */
	double slack;  /* how far a float32 may be off and still be right; 0: not one bit */
};

/* How far a float32 sum of these data may be off in fixed point, by docs/protocol.md. */
double pattern_fixed_bound(int ranks);

/* Bytes of an element. */
size_t pattern_bytes(enum ina_type type);

/* Fills count elements with what the rank contributes. */
void pattern_fill(const struct pattern *pattern, int rank, void *elements, size_t count);

/*
 * How many of the elements are not, bit for bit or within the slack, the result of all ranks.
 * *first: the first one. *farthest: grows to the largest difference of a float32; may be NULL.
 */
uint64_t pattern_check(const struct pattern *pattern, const void *elements, size_t count,
                       size_t *first, double *farthest);

#endif
