/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of several trees a job takes (docs/protocol.md, Trees): jobs spread over the trees that the
 * network has. TRACEs tell how many jobs each switch serves. A job looks at one tree after the
 * other, takes the first that serves no other job, and else the one that serves fewest.
 *
 * Jobs that look at the same time see the same. So a JOIN's sum tells how many jobs the top had
 * when it opened this one: each job that came at that time reads a different number, and moves to
 * the tree that is as much further.
 */
#ifndef INA_ALGORITHMS_SPREAD_H
#define INA_ALGORITHMS_SPREAD_H

#include "tree.h"

/* Trees that a job looks at, at most. */
#define INA_SPREAD_LOOKS 8u

struct ina_spread {
	unsigned int looks;
	unsigned int first; /* the tree that it looked at first */
	uint64_t switches;  /* a fingerprint of that tree's switches */
	unsigned int best;  /* the first of those that serve fewest jobs */
	uint64_t least;     /* its load */
	bool is_done;
	bool is_alone; /* the next tree was the first one again */
};

/*
 * `tree` has just been made of the TRACEs of tree number `at`. Returns true if TRACEs are to be
 * sent on tree *next now, false if the job stays on this tree. `spread` is zeros at first. All
 * ranks get the same answer.
 */
bool ina_spread_look(struct ina_spread *spread, unsigned int at, const struct ina_tree *tree,
                     unsigned int *next);

/*
 * before: the number of jobs that the top had before this one, as the sum of the JOINs says.
 * Returns how many of these came after the TRACEs: the job moves to the tree that is as much
 * further. 0: it stays.
 */
unsigned int ina_spread_further(const struct ina_spread *spread, const struct ina_tree *tree,
                                unsigned int before);

#endif
