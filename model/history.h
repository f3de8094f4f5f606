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
	struct history_sum *sums; /* of all jobs, as many as a port's queues have slots */
};

/* False: no memory. */
bool history_open(struct history *history, unsigned slot_count);
void history_close(struct history *history);

/*
 * Keeps the sum of the packets of an ordinal in the job's block, in place of the one that is as far
 * before it as the block has packets.
 */
void history_write(struct history *history, struct memory_block block, uint64_t ordinal,
                   const uint8_t *sum, unsigned sum_bytes);

/* The sum of an ordinal, if no more than the block has packets have been written since. */
const struct history_sum *history_read(const struct history *history, struct memory_block block,
                                       uint64_t ordinal);

#endif
