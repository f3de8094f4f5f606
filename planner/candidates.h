/* SPDX-License-Identifier: Apache-2.0 */
/* Finds candidate trees: first with random prices, then with the prices of the linear program. */
#ifndef INA_PLANNER_CANDIDATES_H
#define INA_PLANNER_CANDIDATES_H

#include "program.h"

/* The trees without a plan, for each job: numbers in the pool, or PLAN_NONE. */
struct plan_baselines {
	unsigned plain[PLAN_JOBS_MAX];
	unsigned nearest[PLAN_JOBS_MAX];
	unsigned passed[PLAN_JOBS_MAX]; /* the nearest tree's paths, without aggregation */
};

/*
 * Fills the pool with the baselines, trees for random prices, and trees for the prices of the
 * relaxed program. Stops when no tree costs less than its job pays, or after the last round.
 * `solution` is the last solution of the program; the caller frees its `rates`. Returns false if
 * GLPK found no solution.
 */
bool plan_find_candidates(struct plan_pool *pool, uint64_t seed, struct plan_baselines *baselines,
                          struct plan_solution *solution);

#endif
