/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks are connected with each other. Each rank has connections to the eight next ranks on
 * either side around the ring of ranks, and to those at distances 16, 32, 64 and so on. So a rank
 * has at most 2 log2 n + 8 connections, and a broadcast reaches all ranks after log2 n steps. A
 * rank is cut off only if all its neighbours end. Up to 17 ranks are all neighbours of each other;
 * that is as many as one switch can sum for.
 *
 * The tree is a part of these connections: the number of a rank's parent is the rank's number
 * without its lowest bit. Rank 0 is the root.
 */
#ifndef INA_CONTROL_NEIGHBOURS_H
#define INA_CONTROL_NEIGHBOURS_H

#include <stdbool.h>

#include "hostlib/include/ina.h"

/* Up to this distance, all ranks are neighbours. A power of two. */
#define INA_NEIGHBOURS_NEAR 8

/* Twice the binary logarithm of INA_MAX_RANKS, plus 8. */
#define INA_NEIGHBOURS_MAX 28

/*
 * Lists the neighbours in ascending order and returns their number. A rank that does not exist
 * (rank >= ranks) has no neighbours.
 */
int ina_neighbours(int rank, int ranks, int neighbours[INA_NEIGHBOURS_MAX]);

/* For all ranks except 0. */
static inline int ina_parent(int rank)
{
	return rank & (rank - 1);
}

static inline bool ina_is_child(int rank, int parent)
{
	return rank > 0 && ina_parent(rank) == parent;
}

/* The first rank after a rank's subtree, which consists of the rank and of those that follow it. */
int ina_subtree_end(int rank, int ranks);

#endif
