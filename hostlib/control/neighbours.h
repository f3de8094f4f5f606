/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is connected with whom: each rank with the eight next ones round the ring of ranks, on both
 * sides, and with those at the distances 16, 32, 64 ... So a rank has 2 log2 n + 8 connections at
 * most, what one says is at all others after log2 n steps, and it takes the end of all of a rank's
 * neighbours to cut that one off. Up to 17 ranks, as many as one switch can sum for, are all
 * neighbours of each other.
 *
 * The tree is a part of it: a rank's parent is the one without its lowest bit. Rank 0 is the root.
 */
#ifndef INA_CONTROL_NEIGHBOURS_H
#define INA_CONTROL_NEIGHBOURS_H

#include <stdbool.h>

#include "hostlib/include/ina.h"

/* Up to this distance all ranks are. A power of two. */
#define INA_NEIGHBOURS_NEAR 8

/* Twice the binary logarithm of INA_MAX_RANKS, and 8. */
#define INA_NEIGHBOURS_MAX 28

/* In ascending order; returns how many: none of a rank that there is not. */
int ina_neighbours(int rank, int ranks, int neighbours[INA_NEIGHBOURS_MAX]);

/* Not of rank 0. */
static inline int ina_parent(int rank)
{
	return rank & (rank - 1);
}

static inline bool ina_is_child(int rank, int parent)
{
	return rank > 0 && ina_parent(rank) == parent;
}

/* The first rank behind those of a rank's subtree, which are it and the ones that follow it. */
int ina_subtree_end(int rank, int ranks);

#endif
