/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of a tree for a job (docs/protocol.md, Trees): jobs spread over the trees of the
 * network. TRACEs report how many jobs each switch serves. A job looks at one tree after the other,
 * and takes the first one that serves no other job, or else the one that serves the fewest.
 *
 * Jobs that look at the same time see the same loads. So the sum of the JOINs also reports how many
 * jobs the top had when it opened this one's context. Each job that came at that time reads a
 * different number, and moves to the tree that is further by the difference.
 */
#ifndef INA_ALGORITHMS_SPREAD_H
#define INA_ALGORITHMS_SPREAD_H

#include "tree.h"

/* The most trees that a job looks at. */
#define INA_SPREAD_LOOKS 8u

struct ina_spread {
	unsigned int looks;
	unsigned int first; /* number of the first tree that it looked at */
	uint64_t switches;  /* a fingerprint of that tree's switches */
	unsigned int best;  /* the first one of the trees with the least load */
	uint64_t least;     /* the load of that tree */
	bool is_done;
	bool is_alone; /* the next tree was the first one again, so there is only one */
};

/*
 * Takes `tree`, which was just made from TRACEs on tree number `at`. Returns true if TRACEs must
 * now be sent on tree *next, and false if the job stays on this tree. `spread` must be zero before
 * the first call. All ranks get the same answer.
 */
bool ina_spread_look(struct ina_spread *spread, unsigned int at, const struct ina_tree *tree,
                     unsigned int *next);

/*
 * Returns by how many trees the job must move; 0: it stays. before: the number of jobs that the top
 * had before this one, from the sum of the JOINs. The result is the number of these jobs that came
 * after the TRACEs.
 */
unsigned int ina_spread_further(const struct ina_spread *spread, const struct ina_tree *tree,
                                unsigned int before);

/*
 * Packs the grant of a JOIN and that number into one word, not 0, so that ranks can agree on the
 * smallest. If a switch was reset, they may have read different sums. ina_spread_unpack() returns
 * the grant.
 */
uint32_t ina_spread_pack(uint32_t packets, unsigned int further);
uint32_t ina_spread_unpack(uint32_t word, unsigned int *further);

#endif
