/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots go by the packets' ordinal, which is the same for all flows of a job.
 *
 * Why a slot may be overwritten: a host sends packet p + W only after the sum of p
 * has reached it, and W, its window, is no more than the block's packets B (no more is
 * granted at JOIN). So when sum p + B is made, every host has sum p. Where a child may be a switch,
 * whose border need not wait for its others below when it is broken or was reset, B is 2 W
 * (docs/protocol.md, A history is long enough).
 *
 * Of partial sums: when that of p + B is made, every host below has the sum of p from
 * above, so that has been made, and whoever still wants p is answered there.
 */
#include "history.h"

#include <stdlib.h>
#include <string.h>

bool history_open(struct history *history, unsigned slot_count)
{
	history->sums = calloc(slot_count, sizeof(*history->sums));
	return history->sums != NULL;
}

void history_close(struct history *history)
{
	free(history->sums);
	history->sums = NULL;
}

void history_write(struct history *history, struct memory_block block, uint64_t ordinal,
                   const uint8_t *sum, unsigned sum_bytes)
{
	struct history_sum *slot = &history->sums[memory_slot(block, ordinal)];

	slot->payload_bytes = sum_bytes;
	memcpy(slot->payload.bytes, sum, sum_bytes);
}

const struct history_sum *history_read(const struct history *history, struct memory_block block,
                                       uint64_t ordinal)
{
	return &history->sums[memory_slot(block, ordinal)];
}
