/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet memory that all jobs share: which part of it belongs to which job. Every port's queue
 * and the histories have as many packets, and a job has the same block in all of them.
 */
#ifndef INA_MODEL_MEMORY_H
#define INA_MODEL_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* A power of two of packets that begins at a multiple of its size. */
struct memory_block {
	unsigned base;
	unsigned packets;
};

struct memory {
	bool *is_used; /* a grain each */
	unsigned grain_count;
	unsigned spare_grains;   /* that are free beyond one for each holder to come */
	unsigned grain_packets;  /* the smallest block */
	unsigned window_packets; /* the largest one */
};

/*
 * The numbers are as aggregator_config has them; each of `holders` has one block at most at a time.
 * False: no memory.
 */
bool memory_open(struct memory *memory, unsigned holders, unsigned packets, unsigned window_packets,
                 unsigned grain_packets);
void memory_close(struct memory *memory);

/*
 * For a holder that has none. The largest block that is free, not above what is asked for, and
 * leaves a grain to each other holder that has none; or a grain, of which there always is one. The
 * lowest of them.
 */
struct memory_block memory_take(struct memory *memory, uint64_t asked_packets);

/* What was taken is free again. */
void memory_give(struct memory *memory, struct memory_block block);

/* Where the packet of that number is kept: the number modulo the block's size, in the block. */
static inline unsigned memory_slot(struct memory_block block, uint64_t number)
{
	return block.base | (unsigned)(number & (block.packets - 1));
}

#endif
