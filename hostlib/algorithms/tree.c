/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one tree from the paths of all ranks. */
#include "tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Do both ranks have the same switch at this level? */
static bool share(const struct ina_tree *tree, int a, int b, unsigned int level)
{
	uint64_t id = ina_tree_slot(tree, a, level)->id;

	return id != 0 && id == ina_tree_slot(tree, b, level)->id;
}

/* The level of the highest switch that is known for this rank; 0: none. */
static unsigned int reach(const struct ina_tree *tree, int rank)
{
	unsigned int level = INA_WIRE_LEVELS;

	while (level > 0 && ina_tree_slot(tree, rank, level)->id == 0)
		level--;
	return level;
}

/* Orders ranks by the switch of this level and by the port at which they arrive there. */
struct arrivals {
	const struct ina_tree *tree;
	unsigned int level;
};

static int compare_arrivals(const void *a, const void *b, void *context)
{
	const struct arrivals *arrivals = context;
	int rank_a = *(const int *)a;
	int rank_b = *(const int *)b;
	const struct ina_wire_trace_slot *at_a =
	        ina_tree_slot(arrivals->tree, rank_a, arrivals->level);
	const struct ina_wire_trace_slot *at_b =
	        ina_tree_slot(arrivals->tree, rank_b, arrivals->level);

	if (at_a->id != at_b->id)
		return at_a->id < at_b->id ? -1 : 1;
	if (at_a->port != at_b->port)
		return at_a->port < at_b->port ? -1 : 1;
	return rank_a - rank_b;
}

static void sort(struct ina_tree *tree, int (*compare)(const void *, const void *, void *),
                 void *context)
{
	for (int r = 0; r < tree->ranks; r++)
		tree->order[r] = r;
	qsort_r(tree->order, (size_t)tree->ranks, sizeof(*tree->order), compare, context);
}

/*
 * Sorts `order` so that ranks with the same switch, and among them those with the same port, are
 * adjacent.
 */
static void sort_arrivals(struct ina_tree *tree, unsigned int level)
{
	struct arrivals arrivals = {tree, level};

	sort(tree, compare_arrivals, &arrivals);
}

/*
 * Ranks order[from] to order[end - 1] are below one switch. Sets the lowest of them for all. The
 * switches above are copied from the rank that knows the highest one; if there are several, from
 * the lowest of these.
 */
static void unite(struct ina_tree *tree, unsigned int level, int from, int end)
{
	int first = tree->order[from];
	int knows = first;

	for (int i = from + 1; i < end; i++) {
		int r = tree->order[i];

		if (r < first)
			first = r;
		if (reach(tree, r) > reach(tree, knows) ||
		    (reach(tree, r) == reach(tree, knows) && r < knows))
			knows = r;
	}
	for (int i = from; i < end; i++) {
		struct ina_path *path = &tree->paths[tree->order[i]];

		path->first[level - 1] = first;
		if (tree->order[i] != knows)
			memcpy(&path->slots[level], &tree->paths[knows].slots[level],
			       (INA_WIRE_LEVELS - level) * sizeof(path->slots[0]));
	}
}

/*
 * Completes for each switch the path above it and the lowest rank below it. A rank without a switch
 * at a level takes the lowest rank from the level below.
 */
static void complete(struct ina_tree *tree)
{
	for (unsigned int level = 1; level <= INA_WIRE_LEVELS; level++) {
		int end;

		sort_arrivals(tree, level);
		for (int from = 0; from < tree->ranks; from = end) {
			int r = tree->order[from];

			end = from + 1;
			while (end < tree->ranks && share(tree, r, tree->order[end], level))
				end++;
			if (ina_tree_slot(tree, r, level)->id != 0)
				unite(tree, level, from, end);
			else
				tree->paths[r].first[level - 1] =
				        level > 1 ? tree->paths[r].first[level - 2] : r;
		}
	}
}

static bool all_share(const struct ina_tree *tree, unsigned int level)
{
	for (int r = 0; r < tree->ranks; r++) {
		if (!share(tree, 0, r, level))
			return false;
	}
	return true;
}

/* The lowest level at which all ranks have the same switch; 0 if there is no such level. */
static unsigned int find_top(const struct ina_tree *tree)
{
	unsigned int level = 1;

	while (level <= INA_WIRE_LEVELS && !all_share(tree, level))
		level++;
	return level <= INA_WIRE_LEVELS ? level : 0;
}

/*
 * Do both ranks pass the same switch below this level? Otherwise, if they arrive here by the same
 * port, their packets arrive without having been summed.
 */
static bool come_alike(const struct ina_tree *tree, int a, int b, unsigned int level)
{
	while (--level > 0) {
		if (ina_tree_slot(tree, a, level)->id != 0 ||
		    ina_tree_slot(tree, b, level)->id != 0)
			return share(tree, a, b, level);
	}
	return false;
}

static bool same_port(const struct ina_tree *tree, int a, int b, unsigned int level)
{
	return share(tree, a, b, level) &&
	       ina_tree_slot(tree, a, level)->port == ina_tree_slot(tree, b, level)->port;
}

/*
 * Do ranks arrive at a switch of this level by the same port, where the sum of these ranks ought to
 * arrive?
 */
static bool is_crowded(struct ina_tree *tree, unsigned int level)
{
	int a = 0;

	sort_arrivals(tree, level);
	for (int i = 0; i < tree->ranks; i++) {
		int b = tree->order[i];

		if (i == 0 || !same_port(tree, a, b, level)) {
			a = b;
			continue;
		}
		if (come_alike(tree, a, b, level))
			continue;
		snprintf(tree->why, sizeof(tree->why),
		         "ranks %d and %d both reach switch %" PRIx64
		         " through its port %u, and no aggregator before it sums them",
		         a, b, ina_tree_slot(tree, a, level)->id,
		         ina_tree_slot(tree, a, level)->port);
		return true;
	}
	return false;
}

/*
 * Explains why there is no top: some ranks have no known switch, or two ranks have no switch in
 * common.
 */
static void explain_parting(struct ina_tree *tree)
{
	const struct ina_wire_trace_slot *first;
	const struct ina_wire_trace_slot *other;
	int r = 0;

	while (r < tree->ranks && reach(tree, r) > 0)
		r++;
	if (r < tree->ranks) {
		snprintf(tree->why, sizeof(tree->why), "no switch has an aggregator for rank %d",
		         r);
		return;
	}
	for (r = 1; share(tree, 0, r, reach(tree, 0)); r++)
		;
	first = ina_tree_slot(tree, 0, reach(tree, 0));
	other = ina_tree_slot(tree, r, reach(tree, r));
	snprintf(tree->why, sizeof(tree->why),
	         "no aggregator is above both switch %" PRIx64 " with rank 0 and switch %" PRIx64
	         " with rank %d",
	         first->id, other->id, r);
}

static void judge(struct ina_tree *tree)
{
	bool known = false;
	unsigned int top;

	for (int r = 0; r < tree->ranks; r++) {
		known |= reach(tree, r) > 0;
		if (tree->paths[r].lost == 0)
			continue;
		tree->verdict = INA_TREE_LOST;
		snprintf(tree->why, sizeof(tree->why), "the TRACE of rank %d did not arrive", r);
		return;
	}
	if (!known)
		return;
	tree->verdict = INA_TREE_PARTED;
	top = find_top(tree);
	if (top == 0) {
		explain_parting(tree);
		return;
	}
	for (unsigned int level = 1; level <= top; level++) {
		if (is_crowded(tree, level))
			return;
	}
	tree->verdict = INA_TREE_SUMS;
	tree->top = top;
}

/*
 * Orders switches from the top down by the lowest rank below each. If the ranks below each switch
 * are already adjacent, and if there is no top, this is the order of ranks.
 */
static int compare_places(const void *a, const void *b, void *context)
{
	const struct ina_tree *tree = context;
	int rank_a = *(const int *)a;
	int rank_b = *(const int *)b;

	for (unsigned int level = tree->top; level > 0; level--) {
		int first_a = tree->paths[rank_a].first[level - 1];
		int first_b = tree->paths[rank_b].first[level - 1];

		if (first_a != first_b)
			return first_a - first_b;
	}
	return rank_a - rank_b;
}

void ina_tree_make(struct ina_tree *tree, struct ina_path *paths, int *order, int ranks)
{
	*tree = (struct ina_tree){.ranks = ranks, .paths = paths, .order = order};
	complete(tree);
	judge(tree);
	sort(tree, compare_places, tree);
}

bool ina_tree_keeps_order(const struct ina_tree *tree)
{
	int place = 0;

	while (place < tree->ranks && tree->order[place] == place)
		place++;
	return place == tree->ranks;
}

/* The rank `steps` places further in the order. */
static int neighbour(const struct ina_tree *tree, int rank, int steps)
{
	int place = 0;

	while (tree->order[place] != rank)
		place++;
	return tree->order[(place + steps) % tree->ranks];
}

int ina_tree_successor(const struct ina_tree *tree, int rank)
{
	return neighbour(tree, rank, 1);
}

int ina_tree_predecessor(const struct ina_tree *tree, int rank)
{
	return neighbour(tree, rank, tree->ranks - 1);
}

unsigned int ina_tree_children(const struct ina_tree *tree, int rank, unsigned int level)
{
	unsigned int children = 0;

	/* Ranks that arrive by the same port are adjacent. */
	for (int place = 0; place < tree->ranks; place++) {
		int r = tree->order[place];

		children += share(tree, r, rank, level) &&
		            (place == 0 || !same_port(tree, tree->order[place - 1], r, level));
	}
	return children;
}

/* Does each rank arrive at the top without another switch in between? */
static bool has_one_switch(const struct ina_tree *tree)
{
	for (int r = 0; r < tree->ranks; r++) {
		for (unsigned int level = 1; level < tree->top; level++) {
			if (ina_tree_slot(tree, r, level)->id != 0)
				return false;
		}
	}
	return true;
}

uint32_t ina_tree_place(const struct ina_tree *tree, int rank)
{
	int next = ina_tree_successor(tree, rank);
	unsigned int turn = 1;
	uint32_t place = 0;

	if (tree->verdict != INA_TREE_SUMS || has_one_switch(tree))
		return 0;
	while (!share(tree, rank, next, turn))
		turn++;
	for (unsigned int level = 1; level <= tree->top; level++)
		place |= ina_tree_children(tree, rank, level) << (8 * (level - 1));
	return turn << 24 | place;
}
