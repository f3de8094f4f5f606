/* SPDX-License-Identifier: Apache-2.0 */
/* The latest sums of each job, for retransmissions. */
#ifndef INA_MODEL_HISTORY_H
#define INA_MODEL_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "memory.h"
#include "packet.h"

struct history_sum {
	unsigned payload_bytes;
	union payload payload;
};

struct history {
	struct history_sum *sums; /* of all jobs: as many as the memory has packets */
};

/* `slot_count`: packets of the memory. False: out of memory. */
bool history_open(struct history *history, unsigned slot_count);
void history_close(struct history *history);

/*
 * Stores the sum of the packets of this ordinal in the job's block. It overwrites the sum of
 * ordinal - block.packets.
 */
void history_write(struct history *history, struct memory_block block, uint64_t ordinal,
                   const uint8_t *sum, unsigned sum_bytes);

/*
 * Returns the sum of this ordinal. The caller must know that fewer than block.packets later sums
 * have been written.
 */
const struct history_sum *history_read(const struct history *history, struct memory_block block,
                                       uint64_t ordinal);

#endif
