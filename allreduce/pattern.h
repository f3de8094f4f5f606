/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test data whose sum is known: element i of a rank is a hash of (seed, rank, i).
 *
 * int32: all 32 bits, so negative numbers and wrapping sums. float32: integers of at most 17 bits
 * times a power of two that all ranks share, so that any order of up to 64 additions is exact,
 * and the expected sum is made in integers.
 */
#ifndef INA_PATTERN_H
#define INA_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "ina.h"

/* Fills count elements with what the rank contributes. */
void pattern_fill(void *elements, size_t count, enum ina_type type, uint64_t seed, int rank);

/* How many of the elements are not, bit for bit, the sum over all ranks. *first: the first one. */
uint64_t pattern_check(const void *elements, size_t count, enum ina_type type, uint64_t seed,
                       int ranks, size_t *first);

#endif
