/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linear program over a pool of trees. It finds a rate for each tree, so that no link and no
 * switch exceeds its capacity, the smallest rate of a job is as large as possible, and then the sum
 * of all jobs' rates is as large as possible.
 *
 * It follows GRID (Fang and others, IEEE/ACM Transactions on Networking 31(5), 2023). GRID's
 * variables are the share of each worker at each switch. Here each variable is a tree, which says
 * how its share is aggregated, so switches can carry out every solution.
 */
#ifndef INA_PLANNER_PROGRAM_H
#define INA_PLANNER_PROGRAM_H

#include "trees.h"

struct plan_solution {
	double smallest;          /* smallest rate of a job, bits per second */
	double *rates;            /* indexed by tree of the pool */
	struct plan_prices duals; /* PLAN_RELAXED: the value of 1 bit per second more */
	double job_duals[PLAN_JOBS_MAX];
};

enum plan_program {
	/*
	 * Contexts and memory are shared: if a job's trees at a switch have half of the highest
	 * rate that the job can have, they take half a context. It is an upper bound of the others.
	 */
	PLAN_RELAXED,
	PLAN_CHOSEN, /* ignores contexts and memory, which the caller has already checked */
	PLAN_EXACT,  /* whole contexts, and at most trees_most trees per job: branch and bound */
};

/*
 * Solves the program over the trees for which `is_in` is true (NULL: all trees). `trees_most` is
 * the most trees of a job, for PLAN_EXACT. `rates` must have room for the whole pool. Returns false
 * if GLPK found no solution.
 */
bool plan_solve(const struct plan_pool *pool, enum plan_program program, const bool *is_in,
                unsigned trees_most, struct plan_solution *solution);

#endif
