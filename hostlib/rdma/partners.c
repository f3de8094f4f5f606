/* SPDX-License-Identifier: Apache-2.0 */
/* Partners of recursive doubling. */
#include "partners.h"

#include <assert.h>

static_assert(1 << (INA_PARTNERS_MAX - 1) == INA_MAX_RANKS, "its logarithm, and one");

int ina_partners(int rank, int ranks, int partners[INA_PARTNERS_MAX], bool *adds, bool *is_added)
{
	int count = 0;
	int power = 1;
	int added;
	int place;

	while (2 * power <= ranks)
		power *= 2;
	added = ranks - power;
	*adds = rank < 2 * added && rank % 2 == 1;
	*is_added = rank < 2 * added && rank % 2 == 0;
	if (*is_added || *adds)
		partners[count++] = rank ^ 1;
	if (*is_added)
		return count;
	/*
	 * The remaining ranks keep their order, so that each partial result is one of adjacent
	 * ranks.
	 */
	place = rank < 2 * added ? rank / 2 : rank - added;
	for (int distance = 1; distance < power; distance *= 2) {
		int other = place ^ distance;

		partners[count++] = other < added ? 2 * other + 1 : other + added;
	}
	return count;
}
