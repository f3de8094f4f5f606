/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What time one direction of a cable takes, with the queue in front of it. A frame waits for those
 * before it, occupies the cable for its own bytes, preamble, FCS and gap, and arrives with its last
 * bit (store and forward).
 */
#ifndef INA_BRIDGE_CABLE_H
#define INA_BRIDGE_CABLE_H

#include <stdbool.h>
#include <stdint.h>

struct cable {
	uint64_t bits_per_second; /* 0: it takes no time to send */
	uint64_t delay_ns;        /* of the cable */
	uint64_t limit_bytes;     /* of the queue; 0: none */
	uint64_t free_ps;         /* until when it is busy */
	uint64_t most_bytes;      /* that the queue ever held */
};

/* Bytes that wait, or are half out, at `now_ns`. */
uint64_t cable_queued_bytes(const struct cable *cable, uint64_t now_ns);

/* Sends a frame of `bytes`; *arrival_ns: when it has arrived. False: the queue is full. */
bool cable_send(struct cable *cable, uint64_t now_ns, unsigned bytes, uint64_t *arrival_ns);

#endif
