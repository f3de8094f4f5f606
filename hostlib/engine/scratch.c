/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of memory, each at least twice as large as the one before, so at least half of the memory
 * is in use.
 */
#include "scratch.h"

#include <stdlib.h>

struct ina_scratch_block {
	struct ina_scratch_block *smaller;
	size_t bytes;
	_Alignas(64) uint8_t memory[];
};

void *ina_scratch_get(struct ina_scratch *scratch, size_t bytes)
{
	struct ina_scratch_block *block = scratch->block;
	size_t wanted = block && bytes < 2 * block->bytes ? 2 * block->bytes : bytes;

	if (block && block->bytes >= bytes)
		return block->memory;
	wanted = (wanted + 63) / 64 * 64;
	block = aligned_alloc(64, sizeof(*block) + wanted);
	if (!block)
		return NULL;
	block->smaller = scratch->block;
	block->bytes = wanted;
	scratch->block = block;
	return block->memory;
}

void ina_scratch_free(struct ina_scratch *scratch)
{
	while (scratch->block) {
		struct ina_scratch_block *smaller = scratch->block->smaller;

		free(scratch->block);
		scratch->block = smaller;
	}
}
