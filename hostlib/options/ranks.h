/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ranks, with one bit for each rank. A set that is all zero is empty. */
#ifndef INA_OPTIONS_RANKS_H
#define INA_OPTIONS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hostlib/include/ina.h"

struct ina_ranks {
	uint64_t bits[INA_MAX_RANKS / 64];
};

static inline bool ina_ranks_have(const struct ina_ranks *set, int rank)
{
	return set->bits[rank / 64] >> (rank % 64) & 1;
}

static inline void ina_ranks_add(struct ina_ranks *set, int rank)
{
	set->bits[rank / 64] |= UINT64_C(1) << (rank % 64);
}

static inline void ina_ranks_remove(struct ina_ranks *set, int rank)
{
	set->bits[rank / 64] &= ~(UINT64_C(1) << (rank % 64));
}

/* The number of ranks below `ranks` that are in the set. */
int ina_ranks_count(const struct ina_ranks *set, int ranks);

/* Adds all ranks of `other` to the set. Returns whether that added a new one. */
bool ina_ranks_unite(struct ina_ranks *set, const struct ina_ranks *other);

/* Is `other` a subset of the set? */
bool ina_ranks_include(const struct ina_ranks *set, const struct ina_ranks *other);

/* The ranks below `ranks` that are not in the set. */
struct ina_ranks ina_ranks_others(const struct ina_ranks *set, int ranks);

/*
 * Writes "rank 1", "ranks 1 and 3" or "ranks 1, 2 and 3". A long list names the first ranks and
 * ends with the number of the others. Returns the number of ranks below `ranks` that are in the
 * set.
 */
int ina_ranks_list(char *text, size_t size, const struct ina_ranks *set, int ranks);

#endif
