/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Congestion control of the window, as DCTCP does it (RFC 8257, section 3.3): the share of messages
 * whose sums say that they met congestion is estimated, and once a window the window is cut by half
 * of the estimate. Where a window met none, it grows by a message. Sums are the acknowledgements,
 * and the same for all ranks, so all ranks' windows go the same way.
 */
#ifndef INA_ALGORITHMS_CONGESTION_H
#define INA_ALGORITHMS_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

struct ina_congestion {
	bool is_controlled; /* else the window is always `most` */
	uint32_t most;      /* messages */
	double window;      /* messages, 1 to most */
	double alpha;       /* estimated share, 0 to 1 */
	uint64_t end;       /* the message with which the window ends that is being counted */
	uint32_t messages;  /* of that window whose sums have come */
	uint32_t marked;    /* of these, that met congestion */
};

/* A fresh connection: all of the window of `most` messages, for RDMA begins at the link's rate. */
void ina_congestion_reset(struct ina_congestion *congestion, uint32_t most);

/* The sum of message `number` has come; `posted`: messages sent so far. */
void ina_congestion_summed(struct ina_congestion *congestion, uint64_t number, bool is_marked,
                           uint64_t posted);

/* Messages that may be under way: 1 to most. */
uint32_t ina_congestion_window(const struct ina_congestion *congestion);

#endif
