/* SPDX-License-Identifier: Apache-2.0 */
/* From the shares of the relaxed program to a few trees a job, for which all switches have room. */
#ifndef INA_PLANNER_ROUNDING_H
#define INA_PLANNER_ROUNDING_H

#include "candidates.h"

enum {
	PLAN_TREES_MOST = 64, /* of a job */
	PLAN_SPREADS = 4,     /* turns of plan_choose_spread() */
};

struct plan_chooser {
	const struct plan_pool *pool;
	const struct plan_solution *relaxed;
	const struct plan_baselines *baselines;
	unsigned trees_most; /* of a job */
	uint64_t random;
	/* The choice: by tree of the pool, and what follows from it. */
	bool *is_in;
	bool is_at[PLAN_JOBS_MAX][TOPOLOGY_SWITCHES_MAX];
	unsigned counts[PLAN_JOBS_MAX];
};

/* Each makes a new choice, in `is_in`; every job has a tree in it. */

/* By lot, from draw 1 on; draw 0 takes each job's heaviest trees. */
void plan_choose_rounded(struct plan_chooser *chooser, unsigned draw);
/*
 * Each tree of a job carries as much as its others, and is the one that is least in the way of all
 * that has been chosen. `turn` says who begins.
 */
void plan_choose_spread(struct plan_chooser *chooser, unsigned turn);
/* The baselines. */
void plan_choose_nearest(struct plan_chooser *chooser);
void plan_choose_plain(struct plan_chooser *chooser);

#endif
