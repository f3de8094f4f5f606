/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of switches as text. */
#ifndef INA_ALGORITHMS_TREE_DRAW_H
#define INA_ALGORITHMS_TREE_DRAW_H

#include "tree.h"

/*
 * A line for each switch that is known of, with what it does for the ranks, and for each rank,
 * behind the port by which it comes to the one above. Like snprintf().
 */
int ina_tree_draw(const struct ina_tree *tree, char *text, size_t size);

#endif
