/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of switches as text. */
#ifndef INA_ALGORITHMS_TREE_DRAW_H
#define INA_ALGORITHMS_TREE_DRAW_H

#include "tree.h"

/*
 * Draws the tree: a line for each known switch, with its role in the job, and one for each rank,
 * after the port by which it arrives at the switch above. Size and result are as for snprintf().
 */
int ina_tree_draw(const struct ina_tree *tree, char *text, size_t size);

#endif
