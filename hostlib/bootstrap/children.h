/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank's children in the tree, while the ranks meet: who of their subtrees has come, and what
 * they are told when all have. Nothing here waits.
 */
#ifndef INA_BOOTSTRAP_CHILDREN_H
#define INA_BOOTSTRAP_CHILDREN_H

#include "hostlib/control/control.h"
#include "roster.h"

struct ina_children {
	struct ina_control *control;                   /* has their links */
	struct ina_ranks gathered[INA_NEIGHBOURS_MAX]; /* by neighbour: what a child has told */
};

/* Takes in what they have said. Who has gone without a welcome is none any more, and may return. */
void ina_children_step(struct ina_children *children);

/* Who has come of this rank's subtree, and itself. */
struct ina_ranks ina_children_come(const struct ina_children *children);

/* Hands a WELCOME down to all of them. */
void ina_children_welcome(const struct ina_children *children, struct ina_control_frame *frame);

#endif
