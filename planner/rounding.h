/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the rates of the relaxed program into a few trees per job for which switches have room. */
#ifndef INA_PLANNER_ROUNDING_H
#define INA_PLANNER_ROUNDING_H

#include "candidates.h"

enum {
	PLAN_TREES_MOST = 64, /* per job */
	PLAN_SPREADS = 4,     /* values of `turn` for plan_choose_spread() */
};

struct plan_chooser {
	const struct plan_pool *pool;
	const struct plan_solution *relaxed;
	const struct plan_baselines *baselines;
	unsigned trees_most; /* per job */
	uint64_t random;
	/* The choice, indexed by tree of the pool, and the values that follow from it. */
	bool *is_in;
	bool is_at[PLAN_JOBS_MAX][TOPOLOGY_SWITCHES_MAX];
	unsigned counts[PLAN_JOBS_MAX];
};

/* Each of these functions makes a new choice in `is_in`; every job has a tree in it. */

/* Chooses at random, from draw 1 on; draw 0 takes each job's heaviest trees. */
void plan_choose_rounded(struct plan_chooser *chooser, unsigned draw);
/*
 * All trees of a job carry equal shares. Each tree is the one that adds least to the load of the
 * trees chosen before it. `turn` determines the job that begins.
 */
void plan_choose_spread(struct plan_chooser *chooser, unsigned turn);
/* Choose the baselines. */
void plan_choose_nearest(struct plan_chooser *chooser);
void plan_choose_plain(struct plan_chooser *chooser);

#endif
