/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at each block of a size, from the lowest on. */
#include "memory.h"

#include <assert.h>
#include <stdlib.h>

bool memory_open(struct memory *memory, unsigned holders, unsigned packets, unsigned window_packets,
                 unsigned grain_packets)
{
	assert(packets / grain_packets >= holders);
	*memory = (struct memory){
	        .is_used = calloc(packets / grain_packets, sizeof(*memory->is_used)),
	        .grain_count = packets / grain_packets,
	        .spare_grains = packets / grain_packets - holders,
	        .grain_packets = grain_packets,
	        .window_packets = window_packets,
	};
	return memory->is_used != NULL;
}

void memory_close(struct memory *memory)
{
	free(memory->is_used);
	memory->is_used = NULL;
}

static bool is_free(const struct memory *memory, unsigned first, unsigned grains)
{
	for (unsigned i = first; i < first + grains; i++)
		if (memory->is_used[i])
			return false;
	return true;
}

/* All grains of the block have one state and get the other. */
static void set(struct memory *memory, struct memory_block block, bool is_used)
{
	unsigned first = block.base / memory->grain_packets;

	for (unsigned i = first; i < first + block.packets / memory->grain_packets; i++) {
		assert(memory->is_used[i] != is_used);
		memory->is_used[i] = is_used;
	}
}

struct memory_block memory_take(struct memory *memory, uint64_t asked_packets)
{
	struct memory_block block = {.packets = memory->window_packets};

	for (; block.packets >= memory->grain_packets; block.packets /= 2) {
		unsigned grains = block.packets / memory->grain_packets;

		if (grains > 1 &&
		    (block.packets > asked_packets || grains - 1 > memory->spare_grains))
			continue;
		for (unsigned i = 0; i + grains <= memory->grain_count; i += grains) {
			if (!is_free(memory, i, grains))
				continue;
			block.base = i * memory->grain_packets;
			set(memory, block, true);
			memory->spare_grains -= grains - 1;
			return block;
		}
	}
	abort();
}

void memory_give(struct memory *memory, struct memory_block block)
{
	set(memory, block, false);
	memory->spare_grains += block.packets / memory->grain_packets - 1;
}
