/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Column generation. The dual values of the relaxed program are prices. A tree that costs less than
 * its job pays improves the program. The cheapest tree is a Steiner tree, which is hard to find, so
 * trees.c grows cheap trees, with the hosts in several orders.
 */
#include "candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/random.h"

enum { DRAWN = 8, ORDERS = 4, ROUNDS = 20, ROOTS_MOST = 16 };

/* Added to the price of each link, so that the shortest of several free paths is the cheapest. */
static const double a_cable = 1e-6;

struct maker {
	struct plan_pool *pool;
	struct plan_prices *prices;
	uint64_t random;
	unsigned roots[PLAN_JOBS_MAX][TOPOLOGY_SWITCHES_MAX]; /* possible roots; nodes */
	unsigned root_counts[PLAN_JOBS_MAX];
	unsigned turns[PLAN_JOBS_MAX]; /* index of the first root of the next round */
};

/* A random number of at least 0 and less than 1, with 53 bits. */
static double draw(struct maker *maker)
{
	return (double)(ina_random(&maker->random) >> 11) * 0x1p-53;
}

static void shuffle(struct maker *maker, unsigned *hosts, unsigned count)
{
	for (unsigned i = count; i > 1; i--) {
		const unsigned other = (unsigned)(ina_random(&maker->random) % i);
		const unsigned host = hosts[i - 1];

		hosts[i - 1] = hosts[other];
		hosts[other] = host;
	}
}

static void draw_prices(struct maker *maker)
{
	const struct plan_graph *graph = maker->pool->graph;

	memset(maker->prices, 0, sizeof(*maker->prices));
	for (unsigned link = 0; link < graph->link_count; link += 2) {
		maker->prices->links[link] = 1 + draw(maker);
		maker->prices->links[link + 1] = maker->prices->links[link];
	}
	for (unsigned i = 0; i < graph->topology->switch_count; i++)
		maker->prices->inputs[i] = draw(maker);
}

static void find_roots(struct maker *maker)
{
	const struct plan_pool *pool = maker->pool;

	for (unsigned job = 0; job < pool->jobs->count; job++) {
		unsigned *roots = maker->roots[job];

		if (pool->jobs->jobs[job].server != PLAN_NONE) {
			roots[0] = pool->jobs->jobs[job].server;
			maker->root_counts[job] = 1;
			continue;
		}
		maker->root_counts[job] = plan_roots(pool->graph, &pool->jobs->jobs[job], roots);
		for (unsigned i = 0; i < maker->root_counts[job]; i++)
			roots[i] += pool->graph->host_count;
	}
}

/* Adds trees of a job at the current prices, first with the hosts in the job's own order. */
static void grow(struct maker *maker, unsigned job, unsigned orders)
{
	unsigned hosts[TOPOLOGY_HOSTS_MAX];
	const struct plan_job *of = &maker->pool->jobs->jobs[job];
	const unsigned roots = maker->root_counts[job];
	const unsigned most = roots < ROOTS_MOST ? roots : ROOTS_MOST;

	memcpy(hosts, of->hosts, of->count * sizeof(*hosts));
	for (unsigned order = 0; order < orders; order++) {
		for (unsigned i = 0; i < most; i++)
			plan_add_tree(maker->pool, job,
			              maker->roots[job][(maker->turns[job] + i) % roots], hosts,
			              maker->prices);
		shuffle(maker, hosts, of->count);
	}
	if (roots)
		maker->turns[job] = (maker->turns[job] + most) % roots;
}

static void add_baselines(struct maker *maker, struct plan_baselines *baselines)
{
	struct plan_pool *pool = maker->pool;
	double *loads = calloc(PLAN_LINKS_MAX, sizeof(*loads));

	if (!loads)
		abort();
	for (unsigned job = 0; job < pool->jobs->count; job++)
		baselines->plain[job] = plan_add_plain(pool, job, loads);
	memset(loads, 0, PLAN_LINKS_MAX * sizeof(*loads));
	for (unsigned job = 0; job < pool->jobs->count; job++)
		baselines->nearest[job] =
		        plan_add_nearest(pool, job, loads, &baselines->passed[job]);
	free(loads);
}

/* Uses the dual values as prices, and adds a small amount so that paths are short. */
static void take_prices(struct maker *maker, const struct plan_solution *solution)
{
	*maker->prices = solution->duals;
	for (unsigned link = 0; link < maker->pool->graph->link_count; link++)
		maker->prices->links[link] += a_cable;
}

/* True if one of the new trees costs less than its job pays. */
static bool is_better(const struct maker *maker, const struct plan_solution *solution,
                      unsigned first)
{
	const struct plan_pool *pool = maker->pool;

	for (unsigned i = first; i < pool->count; i++)
		if (plan_tree_cost(pool->graph, &pool->trees[i], &solution->duals) <
		    solution->job_duals[pool->trees[i].job] - 1e-7)
			return true;
	return false;
}

static bool solve(struct plan_pool *pool, struct plan_solution *solution)
{
	double *rates = reallocarray(solution->rates, pool->count, sizeof(*rates));

	if (!rates)
		abort();
	solution->rates = rates;
	return plan_solve(pool, PLAN_RELAXED, NULL, 0, solution);
}

bool plan_find_candidates(struct plan_pool *pool, uint64_t seed, struct plan_baselines *baselines,
                          struct plan_solution *solution)
{
	struct maker *maker = calloc(1, sizeof(*maker));

	if (!maker)
		abort();
	*maker = (struct maker){
	        .pool = pool, .random = seed, .prices = calloc(1, sizeof(*maker->prices))};
	if (!maker->prices)
		abort();
	find_roots(maker);
	add_baselines(maker, baselines);
	for (unsigned round = 0; round < DRAWN; round++) {
		draw_prices(maker);
		for (unsigned job = 0; job < pool->jobs->count; job++)
			grow(maker, job, 1);
	}
	bool good = solve(pool, solution);

	for (unsigned round = 0; good && round < ROUNDS; round++) {
		const unsigned before = pool->count;

		take_prices(maker, solution);
		for (unsigned job = 0; job < pool->jobs->count; job++)
			grow(maker, job, ORDERS);
		if (!is_better(maker, solution, before)) {
			good = before == pool->count || solve(pool, solution);
			break;
		}
		good = solve(pool, solution);
	}
	free(maker->prices);
	free(maker);
	return good;
}
