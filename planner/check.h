/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a plan can be carried out, found out afresh from its flows alone. */
#ifndef INA_PLANNER_CHECK_H
#define INA_PLANNER_CHECK_H

#include "trees.h"

/*
 * Follows every flow link by link, counts whose gradients arrive where, and adds up what each link
 * and each switch has to do at `rates`, by tree of the pool; trusts nothing that trees.c worked
 * out. `smallest` is what the plan says the smallest rate of a job is; no job may have more than
 * `trees_most` trees. False, with one line in `error`, names the first thing that is wrong.
 */
bool plan_check(const struct plan_graph *graph, const struct plan_jobs *jobs,
                const struct plan_tree *trees, unsigned count, const double *rates, double smallest,
                unsigned trees_most, char error[PLAN_ERROR_BYTES]);

#endif
