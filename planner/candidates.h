/* SPDX-License-Identifier: Apache-2.0 */
/* Which trees are worth a look: by drawn prices first, then by those of the linear program. */
#ifndef INA_PLANNER_CANDIDATES_H
#define INA_PLANNER_CANDIDATES_H

#include "program.h"

/* What would be done without a plan, by job: numbers of the pool, PLAN_NONE for none. */
struct plan_baselines {
	unsigned plain[PLAN_JOBS_MAX];
	unsigned nearest[PLAN_JOBS_MAX];
	unsigned passed[PLAN_JOBS_MAX]; /* the nearest tree's ways, with nothing added */
};

/*
 * Fills the pool: the baselines, trees by drawn prices, and trees that the relaxed program's prices
 * ask for, until they ask for none or the rounds are over. `solution` is the program's last one;
 * its `rates` are allocated here, for the caller to free. False: GLPK found no solution.
 */
bool plan_find_candidates(struct plan_pool *pool, uint64_t seed, struct plan_baselines *baselines,
                          struct plan_solution *solution);

#endif
