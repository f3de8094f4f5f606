/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates, program, rounding, check: from jobs on a fabric to the plans for them. */
#ifndef INA_PLANNER_PLAN_H
#define INA_PLANNER_PLAN_H

#include "rounding.h"

/* One way to give each job its trees. */
struct plan {
	const char *from; /* "rounded", "spread", "nearest", "plain", "exact" */
	double smallest;  /* bits a second */
	double sum;       /* of all jobs' rates */
	double *rates;    /* by tree of the pool */
};

struct plan_options {
	unsigned trees_most; /* of a job */
	unsigned draws;
	uint64_t seed;
	bool is_exact;
};

struct plan_result {
	struct plan_pool pool;
	struct plan_baselines baselines;
	double bound;        /* of the relaxed program over all candidates */
	unsigned heaviest;   /* most trees that a job has in it */
	struct plan best;    /* with up to trees_most trees a job */
	struct plan single;  /* with one */
	struct plan nearest; /* what there is without a plan */
	struct plan plain;   /* and without switches */
	struct plan exact;   /* as `best`, by branch and bound over the candidates; rates NULL: not
	                        asked for */
};

/*
 * Plans. Every plan in the result has passed plan_check(). False, with one line in `error`: a fault
 * of this program or of GLPK. plan_result_close() in either case.
 */
bool plan_make(struct plan_result *result, const struct plan_graph *graph,
               const struct plan_jobs *jobs, const struct plan_options *options,
               char error[PLAN_ERROR_BYTES]);
void plan_result_close(struct plan_result *result);

double plan_job_rate(const struct plan_pool *pool, const struct plan *plan, unsigned job);

#endif
