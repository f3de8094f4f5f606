/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that frames take on one direction of a cable, and the queue in front of it. A frame
 * waits for the frames before it, occupies the cable for its own bytes, preamble, FCS and gap, and
 * arrives with its last bit (store and forward).
 */
#ifndef INA_BRIDGE_CABLE_H
#define INA_BRIDGE_CABLE_H

#include <stdbool.h>
#include <stdint.h>

struct cable {
	uint64_t bits_per_second; /* 0: sending takes no time */
	uint64_t delay_ns;        /* propagation delay */
	uint64_t limit_bytes;     /* the queue's capacity; 0: no limit */
	uint64_t free_ps;         /* the time until which the cable is busy */
	uint64_t most_bytes;      /* the greatest length that the queue has had */
};

/* Bytes that have not left yet at `now_ns`, including the rest of a frame that is being sent. */
uint64_t cable_queued_bytes(const struct cable *cable, uint64_t now_ns);

/*
 * Sends a frame of `bytes` bytes, and sets *arrival_ns to its arrival at the far end. Returns false
 * if the queue is full.
 */
bool cable_send(struct cable *cable, uint64_t now_ns, unsigned bytes, uint64_t *arrival_ns);

#endif
