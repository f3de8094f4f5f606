/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in what ina-lab takes: one tree a job, of all switches on it. */
#ifndef INA_PLANNER_LAB_H
#define INA_PLANNER_LAB_H

#include <jansson.h>

#include "plan.h"

/* The job's tree in a plan of one tree each; NULL where it has none that goes by switches. */
const struct plan_tree *plan_lab_tree(const struct plan_result *result, unsigned job);

/*
 * In which order the ranks are numbered: as the tree has them, so that the ranks below each switch
 * follow each other; without a tree, by their place in the fabric.
 */
void plan_ranks(const struct plan_result *result, unsigned job, unsigned hosts[TOPOLOGY_HOSTS_MAX]);

/*
 * The tree as a fabric by itself, in the format of lab/README.md: host r is the job's rank r. Of
 * the cables it has those whose rate is not ina-lab's own default. To be released by the caller;
 * NULL for a job without such a tree.
 */
json_t *plan_lab_fabric(const struct plan_result *result, unsigned job);

/* Whether ina-lab takes this tree by itself, in the whole fabric, with these very ranks. */
bool plan_lab_has_it(const struct plan_result *result, unsigned job);

#endif
