/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses one of several trees for a job. */
#include "spread.h"

#include "common/random.h"

/* Is this rank the lowest one below its switch of this level? If so, it stands for the switch. */
static bool stands_for(const struct ina_tree *tree, int rank, unsigned int level)
{
	return ina_tree_slot(tree, rank, level)->id != 0 &&
	       tree->paths[rank].first[level - 1] == rank;
}

/*
 * The load of a tree: the most jobs that a switch of the tree serves, and among equal trees the
 * jobs of all their switches. Switches of level 1 do not count: a host has one link to its switch,
 * which is therefore in all its trees.
 */
static uint64_t load_of(const struct ina_tree *tree)
{
	uint64_t most = 0;
	uint64_t all = 0;

	if (tree->verdict != INA_TREE_SUMS)
		return UINT64_MAX;
	for (unsigned int level = 2; level <= tree->top; level++) {
		for (int r = 0; r < tree->ranks; r++) {
			uint64_t jobs = ina_tree_slot(tree, r, level)->jobs;

			if (jobs > most)
				most = jobs;
			if (stands_for(tree, r, level))
				all += jobs;
		}
	}
	return most << 32 | all;
}

static uint64_t switches_of(const struct ina_tree *tree)
{
	uint64_t state = tree->top;

	for (unsigned int level = 1; level <= tree->top; level++) {
		for (int r = 0; r < tree->ranks; r++) {
			state ^= ina_tree_slot(tree, r, level)->id;
			state = ina_random(&state);
		}
	}
	return state;
}

bool ina_spread_look(struct ina_spread *spread, unsigned int at, const struct ina_tree *tree,
                     unsigned int *next)
{
	uint64_t load = load_of(tree);
	bool goes_round;

	if (spread->is_done)
		return false;
	if (spread->looks == 0)
		*spread = (struct ina_spread){
		        .first = at, .switches = switches_of(tree), .best = at, .least = load};
	goes_round = spread->looks++ > 0 && switches_of(tree) == spread->switches;
	if (load < spread->least) {
		spread->best = at;
		spread->least = load;
	}
	/* If no switch sums on the first tree, look at no other tree. */
	spread->is_done = load == 0 || spread->least == UINT64_MAX || goes_round ||
	                  spread->looks == INA_SPREAD_LOOKS;
	spread->is_alone = goes_round && spread->looks == 2;
	*next = spread->is_done ? spread->best : (at + 1) % INA_WIRE_TREES;
	/* The present tree is the first one, under another number. */
	if (goes_round && spread->best == spread->first)
		return false;
	return *next != at;
}

unsigned int ina_spread_further(const struct ina_spread *spread, const struct ina_tree *tree,
                                unsigned int before)
{
	unsigned int seen = 0;

	if (tree->verdict != INA_TREE_SUMS || tree->top < 2 || spread->is_alone)
		return 0;
	for (int r = 0; r < tree->ranks; r++) {
		unsigned int jobs = ina_tree_slot(tree, r, tree->top)->jobs;

		if (jobs > seen)
			seen = jobs;
	}
	return before > seen ? before - seen : 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t ina_spread_pack(uint32_t packets, unsigned int further)
{
	return least(packets, UINT16_MAX) << 16 | (UINT16_MAX - least(further, UINT16_MAX));
}

uint32_t ina_spread_unpack(uint32_t word, unsigned int *further)
{
	*further = UINT16_MAX - (word & UINT16_MAX);
	return word >> 16;
}
