/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a plan to input for ina-lab: one tree per job, on which all switches aggregate. */
#ifndef INA_PLANNER_LAB_H
#define INA_PLANNER_LAB_H

#include <jansson.h>

#include "plan.h"

/* The job's tree in the plan with one tree per job, or NULL if that tree uses no switches. */
const struct plan_tree *plan_lab_tree(const struct plan_result *result, unsigned job);

/*
 * Lists the job's hosts in the order of their ranks. With a tree it is the tree's order, so the
 * ranks below each switch are consecutive. Without one it is the fabric's order.
 */
void plan_ranks(const struct plan_result *result, unsigned job, unsigned hosts[TOPOLOGY_HOSTS_MAX]);

/*
 * Returns the tree as a separate fabric, in the format of lab/README.md, in which host r is the
 * job's rank r. It lists only cables whose rate is not ina-lab's default. The caller releases it.
 * Returns NULL for a job without such a tree.
 */
json_t *plan_lab_fabric(const struct plan_result *result, unsigned job);

/* True if ina-lab would use this tree anyway, in the whole fabric and with the same ranks. */
bool plan_lab_has_it(const struct plan_result *result, unsigned job);

#endif
