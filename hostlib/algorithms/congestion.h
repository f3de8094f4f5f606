/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Congestion control of the window as in DCTCP (RFC 8257, section 3.3). It estimates the share of
 * messages that met congestion, as their sums report. Once a window in which there was congestion,
 * the window shrinks by half of this share; after a window without congestion it grows by one
 * message. Sums take the place of acknowledgements. They are the same for all ranks, so the windows
 * of all ranks change in the same way.
 */
#ifndef INA_ALGORITHMS_CONGESTION_H
#define INA_ALGORITHMS_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

struct ina_congestion {
	bool is_controlled; /* false: the window is always `most` */
	uint32_t most;      /* the largest window, in messages */
	double window;      /* in messages, from 1 to most */
	double alpha;       /* estimated share, from 0 to 1 */
	uint64_t end;       /* the message whose sum ends the present window */
	uint32_t messages;  /* messages of this window whose sums have arrived */
	uint32_t marked;    /* of these, the messages that met congestion */
};

/*
 * Resets the state for a fresh connection. The window starts at `most` messages, because RDMA
 * starts at the link's rate.
 */
void ina_congestion_reset(struct ina_congestion *congestion, uint32_t most);

/* Records that the sum of message `number` has arrived. posted: messages sent until now. */
void ina_congestion_summed(struct ina_congestion *congestion, uint64_t number, bool is_marked,
                           uint64_t posted);

/* The number of messages that may be under way, from 1 to most. */
uint32_t ina_congestion_window(const struct ina_congestion *congestion);

#endif
