/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet memory that all jobs share. It allocates one block to each job. Every port's queue
 * and each history have that many packets, and a job has the same block in all of them.
 */
#ifndef INA_MODEL_MEMORY_H
#define INA_MODEL_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* A power of two of packets, which begins at a multiple of its size. */
struct memory_block {
	unsigned base;
	unsigned packets;
};

struct memory {
	bool *is_used; /* one entry for each grain */
	unsigned grain_count;
	unsigned spare_grains;   /* free grains beyond one for each holder without a block */
	unsigned grain_packets;  /* packets of the smallest block */
	unsigned window_packets; /* packets of the largest block */
};

/*
 * The numbers are those of aggregator_config. Each of `holders` has at most one block at a time.
 * False: out of memory.
 */
bool memory_open(struct memory *memory, unsigned holders, unsigned packets, unsigned window_packets,
                 unsigned grain_packets);
void memory_close(struct memory *memory);

/*
 * Allocates a block for a holder without one: the largest block that is free, not larger than
 * `asked_packets`, and that leaves a grain to each other holder without a block. If there is
 * none, it is a grain; one is always free. Of several such blocks it is the lowest.
 */
struct memory_block memory_take(struct memory *memory, uint64_t asked_packets);

/* Frees a block. */
void memory_give(struct memory *memory, struct memory_block block);

/* Returns the slot of a packet: its number modulo the size of the block, in the block. */
static inline unsigned memory_slot(struct memory_block block, uint64_t number)
{
	return block.base | (unsigned)(number & (block.packets - 1));
}

#endif
