/* SPDX-License-Identifier: Apache-2.0 */
/* Makes plans for jobs on a fabric: candidates, program, rounding, check. */
#ifndef INA_PLANNER_PLAN_H
#define INA_PLANNER_PLAN_H

#include "rounding.h"

/* One choice of trees for all jobs. */
struct plan {
	const char *from; /* "rounded", "spread", "nearest", "plain", "exact" */
	double smallest;  /* rate of a job, bits per second */
	double sum;       /* of all jobs' rates */
	double *rates;    /* indexed by tree of the pool */
};

struct plan_options {
	unsigned trees_most; /* per job */
	unsigned draws;
	uint64_t seed;
	bool is_exact;
};

struct plan_result {
	struct plan_pool pool;
	struct plan_baselines baselines;
	double bound;        /* smallest rate in the relaxed program over all candidates */
	unsigned heaviest;   /* most trees that a job has in that solution */
	struct plan best;    /* with up to trees_most trees per job */
	struct plan single;  /* with one tree per job */
	struct plan nearest; /* the baseline that aggregates at the nearest switch */
	struct plan plain;   /* the baseline without aggregation */
	struct plan exact;   /* like `best`, by branch and bound over the candidates; rates is NULL
	                        if it was not requested */
};

/*
 * Makes the plans. Every plan in the result has passed plan_check(). Returns false, with one line
 * in `error`, after a fault of this program or of GLPK. The caller calls plan_result_close() in
 * either case.
 */
bool plan_make(struct plan_result *result, const struct plan_graph *graph,
               const struct plan_jobs *jobs, const struct plan_options *options,
               char error[PLAN_ERROR_BYTES]);
void plan_result_close(struct plan_result *result);

double plan_job_rate(const struct plan_pool *pool, const struct plan *plan, unsigned job);

#endif
