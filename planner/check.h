/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a plan can be carried out, from its flows alone. */
#ifndef INA_PLANNER_CHECK_H
#define INA_PLANNER_CHECK_H

#include "trees.h"

/*
 * Follows every flow link by link, counts whose gradients arrive at each node, and adds up the use
 * of each link and each switch at `rates`, which are indexed by tree of the pool. It uses no values
 * that trees.c has computed. `smallest` is the plan's smallest rate of a job; no job may have more
 * than `trees_most` trees. Returns false after an error, with one line in `error` about the first.
 */
bool plan_check(const struct plan_pool *pool, const double *rates, double smallest,
                unsigned trees_most, char error[PLAN_ERROR_BYTES]);

#endif
