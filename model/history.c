/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slot of a sum is given by the ordinal of its packets, which is the same in all flows of a
 * job.
 *
 * A slot may be overwritten for this reason: a host sends packet p + W only after it has received
 * sum p. Its window W is at most B, the packets of the block, because no more is granted at the
 * JOIN. So when sum p + B is made, every host has sum p. If a child may be a switch, B is 2 W,
 * because a switch that is broken or was reset passes its border without waiting for its other
 * children (docs/protocol.md, A history is long enough).
 *
 * The same holds for parts: when part p + B is made, every host below has sum p from above. So
 * sum p exists, and a rank that still lacks it is answered with that sum.
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
