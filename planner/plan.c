/* SPDX-License-Identifier: Apache-2.0 */
/* The program gives each choice of trees its rates; the best choice is the plan. */
#include "plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "common/random.h"

/* Computes and checks the rates of the chosen trees. */
static bool value(const struct plan_chooser *chooser, const char *from, struct plan *plan,
                  char *error)
{
	const struct plan_pool *pool = chooser->pool;
	struct plan_solution *solution = calloc(1, sizeof(*solution));

	*plan = (struct plan){.from = from};
	plan->rates = calloc(pool->count, sizeof(*plan->rates));
	if (!solution || !plan->rates)
		abort();
	solution->rates = plan->rates;
	const bool is_solved =
	        plan_solve(pool, PLAN_CHOSEN, chooser->is_in, chooser->trees_most, solution);

	plan->smallest = solution->smallest;
	free(solution);
	if (!is_solved) {
		snprintf(error, PLAN_ERROR_BYTES, "GLPK found no rates for the %s plan", from);
		return false;
	}
	for (unsigned i = 0; i < pool->count; i++)
		plan->sum += plan->rates[i];
	return plan_check(pool, plan->rates, plan->smallest, chooser->trees_most, error);
}

/* Compares the smallest rates, then the sums; ignores differences that are rounding errors. */
static bool is_better(const struct plan *a, const struct plan *b)
{
	if (fabs(a->smallest - b->smallest) > 1e-7 * b->smallest)
		return a->smallest > b->smallest;
	return a->sum > b->sum * (1 + 1e-7);
}

/* Keeps the better plan in `best`, and frees the other. Takes ownership of `other`. */
static void keep_better(struct plan *best, struct plan *other)
{
	if (best->rates && !is_better(other, best)) {
		free(other->rates);
	} else {
		free(best->rates);
		*best = *other;
	}
}

static bool choose_best(struct plan_chooser *chooser, unsigned draws, struct plan *best,
                        char *error)
{
	struct plan plan;
	bool good = true;

	for (unsigned draw = 0; good && draw < draws; draw++) {
		plan_choose_rounded(chooser, draw);
		good = value(chooser, "rounded", &plan, error);
		keep_better(best, &plan);
	}
	for (unsigned turn = 0; good && turn < PLAN_SPREADS; turn++) {
		plan_choose_spread(chooser, turn);
		good = value(chooser, "spread", &plan, error);
		keep_better(best, &plan);
	}
	if (good) {
		plan_choose_nearest(chooser);
		good = value(chooser, "nearest", &plan, error);
		keep_better(best, &plan);
	}
	if (good) {
		plan_choose_plain(chooser);
		good = value(chooser, "plain", &plan, error);
		keep_better(best, &plan);
	}
	return good;
}

static bool choose_exact(struct plan_chooser *chooser, struct plan *plan, char *error)
{
	const struct plan_pool *pool = chooser->pool;
	struct plan_solution *solution = calloc(1, sizeof(*solution));
	double *rates = calloc(pool->count, sizeof(*rates));

	if (!solution || !rates)
		abort();
	solution->rates = rates;
	const bool is_solved = plan_solve(pool, PLAN_EXACT, NULL, chooser->trees_most, solution);

	/* In the solution of branch and bound, an unused tree can have a rate slightly above 0. */
	for (unsigned i = 0; is_solved && i < pool->count; i++)
		chooser->is_in[i] = rates[i] > 1e-5 * pool->trees[i].most;
	free(rates);
	free(solution);
	if (!is_solved) {
		snprintf(error, PLAN_ERROR_BYTES, "GLPK found no exact plan within a minute");
		return false;
	}
	return value(chooser, "exact", plan, error);
}

static unsigned most_trees(const struct plan_pool *pool, const struct plan_solution *relaxed)
{
	unsigned counts[PLAN_JOBS_MAX] = {0}, most = 1;

	for (unsigned i = 0; i < pool->count; i++)
		if (relaxed->rates[i] > 0 && ++counts[pool->trees[i].job] > most)
			most = counts[pool->trees[i].job];
	return most;
}

static bool make(struct plan_chooser *chooser, struct plan_result *result,
                 const struct plan_options *options, char *error)
{
	chooser->trees_most = options->trees_most;
	plan_choose_nearest(chooser);
	if (!value(chooser, "nearest", &result->nearest, error))
		return false;
	plan_choose_plain(chooser);
	if (!value(chooser, "plain", &result->plain, error) ||
	    !choose_best(chooser, options->draws, &result->best, error) ||
	    (options->is_exact && !choose_exact(chooser, &result->exact, error)))
		return false;
	chooser->trees_most = 1;
	return choose_best(chooser, options->draws, &result->single, error);
}

bool plan_make(struct plan_result *result, const struct plan_graph *graph,
               const struct plan_jobs *jobs, const struct plan_options *options,
               char error[PLAN_ERROR_BYTES])
{
	struct plan_chooser *chooser = calloc(1, sizeof(*chooser));
	struct plan_solution *relaxed = calloc(1, sizeof(*relaxed));
	bool good = false;

	if (!chooser || !relaxed)
		abort();
	*result = (struct plan_result){.pool = {.graph = graph, .jobs = jobs}};
	if (plan_find_candidates(&result->pool, options->seed, &result->baselines, relaxed)) {
		result->bound = relaxed->smallest;
		result->heaviest = most_trees(&result->pool, relaxed);
		*chooser = (struct plan_chooser){
		        .pool = &result->pool,
		        .relaxed = relaxed,
		        .baselines = &result->baselines,
		        .random = ina_mix(options->seed + 1),
		        .is_in = calloc(result->pool.count, sizeof(bool)),
		};
		good = make(chooser, result, options, error);
		free(chooser->is_in);
	} else {
		snprintf(error, PLAN_ERROR_BYTES, "GLPK found no solution of the relaxed program");
	}
	free(relaxed->rates);
	free(relaxed);
	free(chooser);
	return good;
}

void plan_result_close(struct plan_result *result)
{
	free(result->best.rates);
	free(result->single.rates);
	free(result->nearest.rates);
	free(result->plain.rates);
	free(result->exact.rates);
	plan_pool_close(&result->pool);
}

double plan_job_rate(const struct plan_pool *pool, const struct plan *plan, unsigned job)
{
	double rate = 0;

	for (unsigned i = 0; i < pool->count; i++)
		if (pool->trees[i].job == job)
			rate += plan->rates[i];
	return rate;
}
