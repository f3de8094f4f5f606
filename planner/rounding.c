/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds as GRID does. Each job picks trees at random; the probability of a tree is its share of
 * the job's rate in the relaxed program. Trees for which there is no room are left out.
 *
 * Draw 0 takes each job's heaviest tree first. If contexts and memory do not limit the choice, this
 * draw reaches at least the bound divided by m, the most trees that a job has in the relaxed
 * solution. The heaviest of m trees has at least 1/m of the job's rate, and the heaviest trees fit
 * together because they fitted together with the others.
 */
#include "rounding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/random.h"

enum { SWEEPS = 8 };

static void begin(struct plan_chooser *chooser)
{
	memset(chooser->is_in, 0, chooser->pool->count * sizeof(*chooser->is_in));
	memset(chooser->is_at, 0, sizeof(chooser->is_at));
	memset(chooser->counts, 0, sizeof(chooser->counts));
}

/* True if each switch of a tree has a context and memory for the tree's job. */
static bool has_room(const struct plan_chooser *chooser, const struct plan_tree *tree)
{
	const struct plan_graph *graph = chooser->pool->graph;
	const struct plan_jobs *jobs = chooser->pool->jobs;

	for (unsigned i = 0; i < graph->topology->switch_count; i++) {
		unsigned contexts = 1;
		double memory = jobs->jobs[tree->job].memory;

		if (!tree->inputs[i] || chooser->is_at[tree->job][i])
			continue;
		for (unsigned job = 0; job < jobs->count; job++)
			if (chooser->is_at[job][i]) {
				contexts++;
				memory += jobs->jobs[job].memory;
			}
		if (contexts > graph->switches[i].contexts || memory > graph->switches[i].memory)
			return false;
	}
	return true;
}

/* Adds a tree to the choice if there is room for it. */
static void take(struct plan_chooser *chooser, unsigned number)
{
	const struct plan_tree *tree = number == PLAN_NONE ? NULL : &chooser->pool->trees[number];

	if (!tree || chooser->is_in[number] || chooser->counts[tree->job] == chooser->trees_most ||
	    !has_room(chooser, tree))
		return;
	chooser->is_in[number] = true;
	chooser->counts[tree->job]++;
	for (unsigned i = 0; i < chooser->pool->graph->topology->switch_count; i++)
		chooser->is_at[tree->job][i] |= tree->inputs[i] > 0;
}

/* The job's heaviest tree that has not been chosen, or PLAN_NONE. */
static unsigned heaviest(const struct plan_chooser *chooser, unsigned job)
{
	unsigned best = PLAN_NONE;

	for (unsigned i = 0; i < chooser->pool->count; i++)
		if (chooser->pool->trees[i].job == job && !chooser->is_in[i] &&
		    chooser->relaxed->rates[i] > 0 &&
		    (best == PLAN_NONE ||
		     chooser->relaxed->rates[i] > chooser->relaxed->rates[best]))
			best = i;
	return best;
}

/* Picks one of the job's unchosen trees at random, in proportion to their rates. */
static unsigned draw_tree(struct plan_chooser *chooser, unsigned job)
{
	const struct plan_pool *pool = chooser->pool;
	double sum = 0;
	unsigned last = PLAN_NONE;

	for (unsigned i = 0; i < pool->count; i++)
		if (pool->trees[i].job == job && !chooser->is_in[i])
			sum += chooser->relaxed->rates[i];
	double left = sum * (double)(ina_random(&chooser->random) >> 11) * 0x1p-53;

	for (unsigned i = 0; i < pool->count; i++)
		if (pool->trees[i].job == job && !chooser->is_in[i] &&
		    chooser->relaxed->rates[i] > 0) {
			last = i;
			left -= chooser->relaxed->rates[i];
			if (left < 0)
				break;
		}
	return last;
}

/* Of the job's trees for which there is room, the one with the highest rate if it were alone. */
static unsigned best_alone(const struct plan_chooser *chooser, unsigned job)
{
	const struct plan_pool *pool = chooser->pool;
	unsigned best = PLAN_NONE;

	for (unsigned i = 0; i < pool->count; i++)
		if (pool->trees[i].job == job && has_room(chooser, &pool->trees[i]) &&
		    (best == PLAN_NONE || pool->trees[i].most > pool->trees[best].most))
			best = i;
	return best;
}

void plan_choose_rounded(struct plan_chooser *chooser, unsigned draw)
{
	const unsigned jobs = chooser->pool->jobs->count;

	begin(chooser);
	/* Earlier jobs take contexts from later ones, so each draw begins with another job. */
	for (unsigned again = 0; again < chooser->trees_most; again++)
		for (unsigned i = 0; i < jobs; i++) {
			const unsigned job = (i + draw) % jobs;

			take(chooser, draw ? draw_tree(chooser, job) : heaviest(chooser, job));
		}
	for (unsigned i = 0; i < jobs; i++)
		if (!chooser->counts[(i + draw) % jobs])
			take(chooser, best_alone(chooser, (i + draw) % jobs));
}

/* With the eighth power, the fullest links and switches determine nearly the whole sum. */
static double eighth(double value)
{
	value *= value;
	value *= value;
	return value * value;
}

struct spread {
	double links[PLAN_LINKS_MAX];
	double inputs[TOPOLOGY_SWITCHES_MAX];
	unsigned slots[PLAN_JOBS_MAX * PLAN_TREES_MOST];
};

/* How much fuller the fabric becomes if a tree carries `share` of its job's data. */
static double fullness(const struct plan_graph *graph, const struct spread *spread,
                       const struct plan_tree *tree, double share)
{
	const double unit = 1e9;
	double sum = 0;

	for (unsigned link = 0; link < graph->link_count; link++)
		if (tree->loads[link] > 0) {
			const double before = unit * spread->links[link] / graph->rates[link];
			const double more = unit * share * tree->loads[link] / graph->rates[link];

			sum += eighth(before + more) - eighth(before);
		}
	for (unsigned i = 0; i < graph->topology->switch_count; i++)
		if (tree->inputs[i]) {
			const double all = graph->switches[i].processing;
			const double before = unit * spread->inputs[i] / all;

			sum += eighth(before + unit * share * tree->inputs[i] / all) -
			       eighth(before);
		}
	return sum;
}

static void load(const struct plan_graph *graph, struct spread *spread,
                 const struct plan_tree *tree, double share)
{
	for (unsigned link = 0; link < graph->link_count; link++)
		spread->links[link] += share * tree->loads[link];
	for (unsigned i = 0; i < graph->topology->switch_count; i++)
		spread->inputs[i] += share * tree->inputs[i];
}

/* Builds the choice anew from all slots, which releases contexts that no slot needs any more. */
static void take_slots(struct plan_chooser *chooser, const struct spread *spread)
{
	begin(chooser);
	for (unsigned i = 0; i < chooser->pool->jobs->count * chooser->trees_most; i++)
		take(chooser, spread->slots[i]);
}

void plan_choose_spread(struct plan_chooser *chooser, unsigned turn)
{
	const struct plan_pool *pool = chooser->pool;
	const unsigned jobs = pool->jobs->count, slots = jobs * chooser->trees_most;
	const double share = 1.0 / chooser->trees_most;
	struct spread *spread = calloc(1, sizeof(*spread));
	bool has_changed = true;

	if (!spread)
		abort();
	for (unsigned slot = 0; slot < slots; slot++)
		spread->slots[slot] = PLAN_NONE;
	for (unsigned sweep = 0; sweep < SWEEPS && has_changed; sweep++) {
		has_changed = false;
		for (unsigned i = 0; i < slots; i++) {
			const unsigned slot = (i + turn * slots / PLAN_SPREADS) % slots;
			const unsigned before = spread->slots[slot];
			double least = INFINITY;

			if (before != PLAN_NONE)
				load(pool->graph, spread, &pool->trees[before], -share);
			spread->slots[slot] = PLAN_NONE;
			take_slots(chooser, spread);
			for (unsigned k = 0; k < pool->count; k++) {
				const struct plan_tree *tree = &pool->trees[k];

				if (tree->job != slot % jobs || !has_room(chooser, tree))
					continue;
				const double cost = fullness(pool->graph, spread, tree, share);

				if (cost < least * (1 - 1e-9)) {
					least = cost;
					spread->slots[slot] = k;
				}
			}
			if (spread->slots[slot] != PLAN_NONE)
				load(pool->graph, spread, &pool->trees[spread->slots[slot]], share);
			has_changed |= spread->slots[slot] != before;
		}
	}
	take_slots(chooser, spread);
	free(spread);
}

void plan_choose_nearest(struct plan_chooser *chooser)
{
	begin(chooser);
	for (unsigned job = 0; job < chooser->pool->jobs->count; job++) {
		take(chooser, chooser->baselines->nearest[job]);
		take(chooser, chooser->baselines->passed[job]);
		if (!chooser->counts[job])
			take(chooser, chooser->baselines->plain[job]);
	}
}

void plan_choose_plain(struct plan_chooser *chooser)
{
	begin(chooser);
	for (unsigned job = 0; job < chooser->pool->jobs->count; job++)
		take(chooser, chooser->baselines->plain[job]);
}
