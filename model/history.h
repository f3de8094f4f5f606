/* SPDX-License-Identifier: Apache-2.0 */
/* The latest sums of a job, for retransmissions. */
#ifndef INA_MODEL_HISTORY_H
#define INA_MODEL_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

struct history_sum {
	unsigned payload_bytes;
	union payload payload;
};

struct history {
	struct history_sum *sums; /* slot_count of them */
	unsigned slot_count;
};

/* As many slots as the queues have. False: no memory. */
bool history_open(struct history *history, unsigned slot_count);
void history_close(struct history *history);

/* Keeps the sum of the packets of an ordinal, in place of the one slot_count before it. */
void history_write(struct history *history, uint64_t ordinal, const uint8_t *sum,
                   unsigned sum_bytes);

/* The sum of an ordinal, if no more than slot_count have been written since. */
const struct history_sum *history_read(const struct history *history, uint64_t ordinal);

#endif
