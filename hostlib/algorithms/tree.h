/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the ranks are in the tree of switches, from what their TRACEs say (docs/protocol.md,
 * Several switches): whether an aggregator of one switch or of several can sum for all of them, and
 * in which order their connections have to go from one to the next.
 *
 * A TRACE goes up only as far as the switch where its connection turns round. But some connection
 * leaves what is below each switch, unless all ranks are there: so of each switch some rank knows
 * what is above it, and all ranks together know the tree.
 */
#ifndef INA_ALGORITHMS_TREE_H
#define INA_ALGORITHMS_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "hostlib/include/ina.h"
#include "wire/ina_wire.h"

/* The way up from a rank: at each level, from 1 on, a switch, or zeros. */
struct ina_path {
	struct ina_wire_trace_slot slots[INA_WIRE_LEVELS];
	int32_t first[INA_WIRE_LEVELS]; /* the lowest rank below it, when the tree is made */
	int32_t lost;                   /* enum ina_path_lost */
};

enum ina_path_lost {
	INA_PATH_CAME,
	INA_PATH_LATE,   /* the TRACE has not come */
	INA_PATH_FAILED, /* nor can it: the connection has failed */
};

enum ina_tree_verdict {
	INA_TREE_UNKNOWN, /* no switch has told who it is: there may be one, with an aggregator */
	INA_TREE_LOST,    /* a TRACE did not come: `why` */
	INA_TREE_SUMS,    /* the top has all ranks below it, and can sum for them */
	INA_TREE_PARTED,  /* none has: `why` */
};

struct ina_tree {
	int ranks;
	struct ina_path *paths; /* by rank */
	int *order;             /* the ranks, as their connections go round */
	enum ina_tree_verdict verdict;
	unsigned int top; /* its level; 0: none can sum for all */
	char why[200];
};

/*
 * Completes the paths, up to the top, and judges. paths and order are the caller's, one for each
 * rank; paths have what each rank's own TRACE has brought. All ranks come to the same.
 */
void ina_tree_make(struct ina_tree *tree, struct ina_path *paths, int *order, int ranks);

/* Can a JOIN be granted, as far as is known of the switches? */
static inline bool ina_tree_may_sum(const struct ina_tree *tree)
{
	return tree->verdict == INA_TREE_UNKNOWN || tree->verdict == INA_TREE_SUMS;
}

static inline const struct ina_wire_trace_slot *ina_tree_slot(const struct ina_tree *tree, int rank,
                                                              unsigned int level)
{
	return &tree->paths[rank].slots[level - 1];
}

/* Ranks keep their order, but for those below one switch, which follow each other. */
bool ina_tree_keeps_order(const struct ina_tree *tree);

/* The ranks next to this one in the order. */
int ina_tree_successor(const struct ina_tree *tree, int rank);
int ina_tree_predecessor(const struct ina_tree *tree, int rank);

/* Where all sum: ports by which ranks come to this rank's switch of `level`; 0: it has none. */
unsigned int ina_tree_children(const struct ina_tree *tree, int rank, unsigned int level);

/* What this rank's JOIN says of where it is; 0: all ranks are at one switch, or nobody knows. */
uint32_t ina_tree_place(const struct ina_tree *tree, int rank);

#endif
