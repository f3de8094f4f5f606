/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linear program over a pool of trees: a rate for each tree, so that no link and no switch
 * carries more than it can, the job with the smallest rate has the largest possible, and then the
 * sum of all jobs' rates is the largest possible.
 *
 * After GRID (Fang and others, IEEE/ACM Transactions on Networking 31(5), 2023). There the
 * variables are each worker's share at each switch; a tree as variable has the aggregation of a
 * share in it, so any solution of ours is one that switches can carry out.
 */
#ifndef INA_PLANNER_PROGRAM_H
#define INA_PLANNER_PROGRAM_H

#include "trees.h"

struct plan_solution {
	double smallest;          /* of the jobs' rates, bits a second */
	double *rates;            /* by tree of the pool */
	struct plan_prices duals; /* of PLAN_RELAXED: what a bit a second more is worth */
	double job_duals[PLAN_JOBS_MAX];
};

enum plan_program {
	/* Contexts and memory by shares: a job whose trees there have half of what the job could
	 * have at most takes half a context. An upper bound of the next two. */
	PLAN_RELAXED,
	PLAN_CHOSEN, /* without contexts and memory, which the caller has seen to */
	PLAN_EXACT, /* whole contexts, and no job has more trees than it may: by branch and bound */
};

/*
 * Of the trees where `is_in` (NULL: all). `trees_most`: of a job, for PLAN_EXACT. `rates` has room
 * for the pool. False: GLPK found no solution.
 */
bool plan_solve(const struct plan_pool *pool, enum plan_program program, const bool *is_in,
                unsigned trees_most, struct plan_solution *solution);

#endif
