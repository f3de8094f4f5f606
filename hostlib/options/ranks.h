/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ranks: a bit for each. All zero is the empty one. */
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

/* How many of the first `ranks`. */
int ina_ranks_count(const struct ina_ranks *set, int ranks);

/* Puts all of `other` into the set. Returns whether any is new there. */
bool ina_ranks_unite(struct ina_ranks *set, const struct ina_ranks *other);

/* Are all of `other` in the set? */
bool ina_ranks_include(const struct ina_ranks *set, const struct ina_ranks *other);

/* All of the first `ranks` that are not in the set. */
struct ina_ranks ina_ranks_others(const struct ina_ranks *set, int ranks);

/*
 * Writes "rank 1", "ranks 1 and 3", "ranks 1, 2 and 3"; of very many the first, and how many there
 * are besides. Returns how many of the first `ranks` are in the set.
 */
int ina_ranks_list(char *text, size_t size, const struct ina_ranks *set, int ranks);

#endif
