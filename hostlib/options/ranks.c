/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ranks. */
#include "ranks.h"

#include <stdio.h>

#define WORDS (INA_MAX_RANKS / 64)

/* The most ranks that a list names, so that it fits into a text; numbers have up to four digits. */
#define NAMES_MAX 24

int ina_ranks_count(const struct ina_ranks *set, int ranks)
{
	int count = 0;

	for (int r = 0; r < ranks; r++)
		count += ina_ranks_have(set, r);
	return count;
}

bool ina_ranks_unite(struct ina_ranks *set, const struct ina_ranks *other)
{
	bool grows = !ina_ranks_include(set, other);

	for (int i = 0; i < WORDS; i++)
		set->bits[i] |= other->bits[i];
	return grows;
}

bool ina_ranks_include(const struct ina_ranks *set, const struct ina_ranks *other)
{
	for (int i = 0; i < WORDS; i++) {
		if (other->bits[i] & ~set->bits[i])
			return false;
	}
	return true;
}

struct ina_ranks ina_ranks_others(const struct ina_ranks *set, int ranks)
{
	struct ina_ranks others = {{0}};

	for (int r = 0; r < ranks; r++) {
		if (!ina_ranks_have(set, r))
			ina_ranks_add(&others, r);
	}
	return others;
}

int ina_ranks_list(char *text, size_t size, const struct ina_ranks *set, int ranks)
{
	int total = ina_ranks_count(set, ranks);
	int named = total <= NAMES_MAX ? total : NAMES_MAX;
	int listed = 0;
	size_t used = (size_t)snprintf(text, size, total == 1 ? "rank " : "ranks ");

	for (int r = 0; r < ranks && listed < named && used < size; r++) {
		if (!ina_ranks_have(set, r))
			continue;
		const char *glue = listed == 0 ? "" : listed == total - 1 ? " and " : ", ";

		used += (size_t)snprintf(text + used, size - used, "%s%d", glue, r);
		listed++;
	}
	if (named < total && used < size)
		snprintf(text + used, size - used, " and %d others", total - named);
	return total;
}
