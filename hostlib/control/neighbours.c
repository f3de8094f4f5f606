/* SPDX-License-Identifier: Apache-2.0 */
/* Computes which ranks are connected with each other. */
#include "neighbours.h"

#include <assert.h>

static_assert(1 << (INA_NEIGHBOURS_MAX / 2 - 4) == INA_MAX_RANKS, "two for each distance");

static bool is_distance(int ranks)
{
	return ranks <= INA_NEIGHBOURS_NEAR || (ranks & (ranks - 1)) == 0;
}

int ina_neighbours(int rank, int ranks, int neighbours[INA_NEIGHBOURS_MAX])
{
	int count = 0;

	for (int r = 0; r < ranks && rank < ranks; r++) {
		int up = (r - rank + ranks) % ranks;
		int down = ranks - up;

		if (r != rank && (is_distance(up) || is_distance(down)))
			neighbours[count++] = r;
	}
	return count;
}

int ina_subtree_end(int rank, int ranks)
{
	int end = rank == 0 ? ranks : rank + (rank & -rank);

	return end < ranks ? end : ranks;
}
