/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns are the smallest rate, then the rates of the trees. With PLAN_EXACT there are also
 * columns that say whether a tree is used and whether a job is at a switch. All rates are in Gb/s
 * here, so that coefficients are near 1.
 */
#include "program.h"

#include <glpk.h>
#include <math.h>
#include <stdlib.h>

enum { SMALLEST = 1, MILLISECONDS_MOST = 60000 };

static const double unit = 1e9;

struct build {
	const struct plan_pool *pool;
	glp_prob *problem;
	unsigned *trees; /* number in the pool, for column - 2 */
	unsigned count;  /* of `trees` */
	int *indices;    /* of the row that is being built, from 1 on */
	double *values;
	int length;
	int *link_rows; /* 0: no row */
	int input_rows[TOPOLOGY_SWITCHES_MAX];
	int context_rows[TOPOLOGY_SWITCHES_MAX];
	int job_rows[PLAN_JOBS_MAX];
};

static const struct plan_tree *tree_at(const struct build *build, unsigned i)
{
	return &build->pool->trees[build->trees[i]];
}

static int column_of(unsigned i)
{
	return (int)i + 2;
}

static void put(struct build *build, int column, double value)
{
	build->length++;
	build->indices[build->length] = column;
	build->values[build->length] = value;
}

/* Completes the row, with an upper or a lower bound. Returns its number, or 0 for an empty row. */
static int end_row(struct build *build, int kind, double bound)
{
	if (!build->length)
		return 0;
	const int row = glp_add_rows(build->problem, 1);

	glp_set_row_bnds(build->problem, row, kind, bound, bound);
	glp_set_mat_row(build->problem, row, build->length, build->indices, build->values);
	build->length = 0;
	return row;
}

/* No choice of trees gives a job a higher rate than the slowest of its hosts' cables. */
static double most_of_job(const struct plan_pool *pool, unsigned job)
{
	const struct plan_job *of = &pool->jobs->jobs[job];
	double most = INFINITY;

	for (unsigned i = 0; i < of->count; i++)
		most = fmin(most, pool->graph->rates[2 * of->hosts[i]]);
	return most / unit;
}

static void add_rates(struct build *build)
{
	const struct plan_graph *graph = build->pool->graph;

	for (unsigned job = 0; job < build->pool->jobs->count; job++) {
		for (unsigned i = 0; i < build->count; i++)
			if (tree_at(build, i)->job == job)
				put(build, column_of(i), 1);
		put(build, SMALLEST, -1);
		build->job_rows[job] = end_row(build, GLP_LO, 0);
	}
	for (unsigned link = 0; link < graph->link_count; link++) {
		for (unsigned i = 0; i < build->count; i++)
			if (tree_at(build, i)->loads[link] > 0)
				put(build, column_of(i), tree_at(build, i)->loads[link]);
		build->link_rows[link] = end_row(build, GLP_UP, graph->rates[link] / unit);
	}
	for (unsigned place = 0; place < graph->topology->switch_count; place++) {
		if (isinf(graph->switches[place].processing))
			continue;
		for (unsigned i = 0; i < build->count; i++)
			if (tree_at(build, i)->inputs[place])
				put(build, column_of(i), tree_at(build, i)->inputs[place]);
		build->input_rows[place] =
		        end_row(build, GLP_UP, graph->switches[place].processing / unit);
	}
}

/* Finds out whether a choice of trees can exceed this switch's limits; only then it needs rows. */
static void look_at_switch(const struct build *build, unsigned place, bool *contexts, bool *memory)
{
	const struct plan_switch *of = &build->pool->graph->switches[place];
	bool has[PLAN_JOBS_MAX] = {false};
	unsigned count = 0;
	double bytes = 0;

	for (unsigned i = 0; i < build->count; i++)
		has[tree_at(build, i)->job] |= tree_at(build, i)->inputs[place] > 0;
	for (unsigned job = 0; job < build->pool->jobs->count; job++)
		if (has[job]) {
			count++;
			bytes += build->pool->jobs->jobs[job].memory;
		}
	*contexts = count > of->contexts;
	*memory = bytes > of->memory;
}

static void add_shares(struct build *build)
{
	const struct plan_pool *pool = build->pool;
	double most[PLAN_JOBS_MAX];

	for (unsigned job = 0; job < pool->jobs->count; job++)
		most[job] = most_of_job(pool, job);
	for (unsigned place = 0; place < pool->graph->topology->switch_count; place++) {
		const struct plan_switch *of = &pool->graph->switches[place];
		bool contexts, memory;

		look_at_switch(build, place, &contexts, &memory);
		for (unsigned i = 0; contexts && i < build->count; i++)
			if (tree_at(build, i)->inputs[place])
				put(build, column_of(i), 1 / most[tree_at(build, i)->job]);
		build->context_rows[place] = end_row(build, GLP_UP, of->contexts);
		for (unsigned i = 0; memory && i < build->count; i++)
			if (tree_at(build, i)->inputs[place])
				put(build, column_of(i),
				    pool->jobs->jobs[tree_at(build, i)->job].memory / of->memory /
				            most[tree_at(build, i)->job]);
		end_row(build, GLP_UP, 1);
	}
}

static int add_choice(struct build *build)
{
	const int column = glp_add_cols(build->problem, 1);

	glp_set_col_kind(build->problem, column, GLP_BV);
	return column;
}

static void add_choices(struct build *build, unsigned trees_most)
{
	const struct plan_pool *pool = build->pool;
	const int first = glp_get_num_cols(build->problem) + 1;

	for (unsigned i = 0; i < build->count; i++) {
		const int chosen = add_choice(build);

		put(build, column_of(i), 1);
		put(build, chosen, -tree_at(build, i)->most / unit);
		end_row(build, GLP_UP, 0);
	}
	for (unsigned job = 0; job < pool->jobs->count; job++) {
		for (unsigned i = 0; i < build->count; i++)
			if (tree_at(build, i)->job == job)
				put(build, first + (int)i, 1);
		end_row(build, GLP_UP, trees_most);
	}
	for (unsigned place = 0; place < pool->graph->topology->switch_count; place++) {
		const struct plan_switch *of = &pool->graph->switches[place];
		int at[PLAN_JOBS_MAX] = {0};
		bool contexts, memory;

		look_at_switch(build, place, &contexts, &memory);
		for (unsigned i = 0; (contexts || memory) && i < build->count; i++) {
			const unsigned job = tree_at(build, i)->job;

			if (!tree_at(build, i)->inputs[place])
				continue;
			if (!at[job])
				at[job] = add_choice(build);
			put(build, first + (int)i, 1);
			put(build, at[job], -1);
			end_row(build, GLP_UP, 0);
		}
		for (unsigned job = 0; contexts && job < pool->jobs->count; job++)
			if (at[job])
				put(build, at[job], 1);
		end_row(build, GLP_UP, of->contexts);
		for (unsigned job = 0; memory && job < pool->jobs->count; job++)
			if (at[job])
				put(build, at[job], pool->jobs->jobs[job].memory / of->memory);
		end_row(build, GLP_UP, 1);
	}
}

static bool optimize(glp_prob *problem, bool is_exact)
{
	glp_smcp simplex;
	glp_iocp branching;

	glp_init_smcp(&simplex);
	simplex.msg_lev = GLP_MSG_OFF;
	if (glp_simplex(problem, &simplex) != 0 || glp_get_status(problem) != GLP_OPT)
		return false;
	if (!is_exact)
		return true;
	glp_init_iocp(&branching);
	branching.msg_lev = GLP_MSG_OFF;
	branching.tm_lim = MILLISECONDS_MOST;
	return glp_intopt(problem, &branching) == 0 && glp_mip_status(problem) == GLP_OPT;
}

static double value_of(glp_prob *problem, bool is_exact, int column)
{
	const double value =
	        is_exact ? glp_mip_col_val(problem, column) : glp_get_col_prim(problem, column);

	return value > 1e-9 ? value : 0;
}

static void take_duals(struct build *build, struct plan_solution *solution)
{
	glp_prob *problem = build->problem;
	const struct plan_graph *graph = build->pool->graph;

	for (unsigned link = 0; link < graph->link_count; link++)
		solution->duals.links[link] =
		        build->link_rows[link]
		                ? fmax(0, glp_get_row_dual(problem, build->link_rows[link]))
		                : 0;
	for (unsigned place = 0; place < graph->topology->switch_count; place++) {
		const int inputs = build->input_rows[place], contexts = build->context_rows[place];

		solution->duals.inputs[place] =
		        inputs ? fmax(0, glp_get_row_dual(problem, inputs)) : 0;
		/* Roughly: the fraction of a context that a rate of 1 takes, for job 0. */
		solution->duals.contexts[place] =
		        contexts ? fmax(0, glp_get_row_dual(problem, contexts)) /
		                           most_of_job(build->pool, 0)
		                 : 0;
	}
	for (unsigned job = 0; job < build->pool->jobs->count; job++)
		solution->job_duals[job] = fabs(glp_get_row_dual(problem, build->job_rows[job]));
}

/* Maximises the smallest rate, then the sum at this smallest rate. */
static bool solve(struct build *build, enum plan_program program, struct plan_solution *solution)
{
	glp_prob *problem = build->problem;
	const bool is_exact = program == PLAN_EXACT;

	glp_set_obj_coef(problem, SMALLEST, 1);
	if (!optimize(problem, is_exact))
		return false;
	const double smallest = value_of(problem, is_exact, SMALLEST);

	if (program == PLAN_RELAXED)
		take_duals(build, solution);
	/* The bound is lower by a rounding error, since otherwise no solution might be feasible. */
	glp_set_col_bnds(problem, SMALLEST, GLP_LO, smallest * (1 - (is_exact ? 1e-6 : 1e-9)), 0);
	glp_set_obj_coef(problem, SMALLEST, 0);
	for (unsigned i = 0; i < build->count; i++)
		glp_set_obj_coef(problem, column_of(i), 1);
	if (!optimize(problem, is_exact))
		return false;
	solution->smallest = smallest * unit;
	for (unsigned i = 0; i < build->pool->count; i++)
		solution->rates[i] = 0;
	for (unsigned i = 0; i < build->count; i++)
		solution->rates[build->trees[i]] = unit * value_of(problem, is_exact, column_of(i));
	return true;
}

bool plan_solve(const struct plan_pool *pool, enum plan_program program, const bool *is_in,
                unsigned trees_most, struct plan_solution *solution)
{
	struct build build = {.pool = pool, .problem = glp_create_prob()};

	/* The longest row can have every tree, a choice for each job, and the smallest rate. */
	build.trees = calloc(pool->count + 1, sizeof(*build.trees));
	build.indices = calloc(pool->count + 4 + PLAN_JOBS_MAX, sizeof(*build.indices));
	build.values = calloc(pool->count + 4 + PLAN_JOBS_MAX, sizeof(*build.values));
	build.link_rows = calloc(pool->graph->link_count, sizeof(*build.link_rows));
	if (!build.trees || !build.indices || !build.values || !build.link_rows)
		abort();
	for (unsigned i = 0; i < pool->count; i++)
		if (!is_in || is_in[i])
			build.trees[build.count++] = i;
	glp_set_obj_dir(build.problem, GLP_MAX);
	glp_add_cols(build.problem, 1 + (int)build.count);
	for (int column = 1; column <= 1 + (int)build.count; column++)
		glp_set_col_bnds(build.problem, column, GLP_LO, 0, 0);
	add_rates(&build);
	if (program == PLAN_RELAXED)
		add_shares(&build);
	if (program == PLAN_EXACT)
		add_choices(&build, trees_most);
	const bool good = solve(&build, program, solution);

	glp_delete_prob(build.problem);
	free(build.trees);
	free(build.indices);
	free(build.values);
	free(build.link_rows);
	return good;
}
