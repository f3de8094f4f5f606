/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives a fabric by a capture: its frames come in at their times, and nothing waits. As in virtual
 * time, the aggregators' clocks follow these times. The frames that leave go nowhere but into the
 * captures of this run.
 */
#ifndef INA_BRIDGE_REPLAY_H
#define INA_BRIDGE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "recording.h"
#include "sim-bridge/switch/fabric.h"
#include "sim-bridge/switch/port_counts.h"

struct replay {
	struct recording *recording;
	struct frame_pool *pool;
	struct fabric *fabric; /* set by the caller before replay_run() */
	/*
	 * Add it to the fabric's time to get time since the Unix epoch. It is a whole second, so
	 * that a clock's edges keep their place within the second.
	 */
	uint64_t epoch_ns;
	struct port_counts counts[BRIDGE_PORTS_MAX];
};

/* The caller keeps ownership of the recording and the pool. */
void replay_open(struct replay *replay, struct recording *recording, struct frame_pool *pool);

/* Implements fabric_transmit; `context` is the replay. */
bool replay_transmit(void *context, unsigned host, uint64_t time_ns, struct frame *frame);

/* Runs to the end of the recording and 30 s beyond it, or until an aggregator is stuck. */
void replay_run(struct replay *replay);

#endif
