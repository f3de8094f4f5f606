/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank's children in the tree while the ranks meet: which ranks of their subtrees have connected,
 * and the roster for them. No function here waits.
 */
#ifndef INA_BOOTSTRAP_CHILDREN_H
#define INA_BOOTSTRAP_CHILDREN_H

#include "hostlib/control/control.h"
#include "roster.h"

struct ina_children {
	struct ina_control *control; /* has the links of the children */
	/* by neighbour: the last report of a child */
	struct ina_ranks gathered[INA_NEIGHBOURS_MAX];
};

/*
 * Reads the children's frames. A child that has ended before the welcome is removed, and may
 * connect again.
 */
void ina_children_step(struct ina_children *children);

/* The ranks of this rank's subtree that have connected, including this rank. */
struct ina_ranks ina_children_come(const struct ina_children *children);

/* Passes a WELCOME down to all children. */
void ina_children_welcome(const struct ina_children *children, struct ina_control_frame *frame);

#endif
