/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The positions of the ranks in the tree of switches, from their TRACEs (docs/protocol.md, Several
 * switches). The tree says whether the aggregators of one or several switches can sum for all
 * ranks, and in which order the ranks' connections must go round.
 *
 * A TRACE only goes up to the switch where its connection turns. But below each switch that does
 * not have all ranks, some connection leaves upward. So for each switch some rank knows the path
 * above it, and all ranks together know the tree.
 */
#ifndef INA_ALGORITHMS_TREE_H
#define INA_ALGORITHMS_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "hostlib/include/ina.h"
#include "wire/ina_wire.h"

/* The path up from a rank: a switch at each level, from 1 on, or zeros. */
struct ina_path {
	struct ina_wire_trace_slot slots[INA_WIRE_LEVELS];
	/* the lowest rank below that switch; valid when the tree is made */
	int32_t first[INA_WIRE_LEVELS];
	int32_t lost; /* enum ina_path_lost */
};

enum ina_path_lost {
	INA_PATH_CAME,
	INA_PATH_LATE,   /* the TRACE has not arrived */
	INA_PATH_FAILED, /* the TRACE cannot arrive, because the connection has failed */
};

enum ina_tree_verdict {
	INA_TREE_UNKNOWN, /* no switch has reported its id; there may be one with an aggregator */
	INA_TREE_LOST,    /* a TRACE is missing: see `why` */
	INA_TREE_SUMS,    /* the top has all ranks below it, and the switches can sum for them */
	INA_TREE_PARTED,  /* the switches cannot sum for all ranks: see `why` */
};

struct ina_tree {
	int ranks;
	struct ina_path *paths; /* by rank */
	int *order;             /* the ranks, in the order of their connections */
	enum ina_tree_verdict verdict;
	unsigned int top; /* level of the top; 0: no switch can sum for all ranks */
	char why[200];
};

/*
 * Makes the tree: completes the paths up to the top, and judges whether the switches can sum. paths
 * and order are the caller's memory, with one entry for each rank; each path has the contents of
 * its rank's TRACE. All ranks get the same tree.
 */
void ina_tree_make(struct ina_tree *tree, struct ina_path *paths, int *order, int ranks);

/* Could a JOIN be granted, as far as the switches are known? */
static inline bool ina_tree_may_sum(const struct ina_tree *tree)
{
	return tree->verdict == INA_TREE_UNKNOWN || tree->verdict == INA_TREE_SUMS;
}

static inline const struct ina_wire_trace_slot *ina_tree_slot(const struct ina_tree *tree, int rank,
                                                              unsigned int level)
{
	return &tree->paths[rank].slots[level - 1];
}

/*
 * Is the order of the connections that of the ranks? It differs only if ranks below one switch are
 * not adjacent.
 */
bool ina_tree_keeps_order(const struct ina_tree *tree);

/* The ranks after and before this one in the order. */
int ina_tree_successor(const struct ina_tree *tree, int rank);
int ina_tree_predecessor(const struct ina_tree *tree, int rank);

/*
 * If the switches can sum: the number of ports by which ranks arrive at this rank's switch of
 * `level`; 0 if it has no switch there.
 */
unsigned int ina_tree_children(const struct ina_tree *tree, int rank, unsigned int level);

/*
 * The place in this rank's JOIN (docs/protocol.md, Several switches); 0 if all ranks are at one
 * switch or if the tree is unknown.
 */
uint32_t ina_tree_place(const struct ina_tree *tree, int rank);

#endif
