/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch: links with their faults, the table of MAC addresses, and the
 * aggregator beside it. Knows no sockets and no clock: frames come with their
 * time, what is to happen later is in the calendar.
 *
 *   receive -> up link -> capture, learn -> [aggregator] -> forward
 *           -> down link -> capture -> transmit
 */
#ifndef INA_BRIDGE_BRIDGE_H
#define INA_BRIDGE_BRIDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "calendar.h"
#include "capture.h"
#include "sim-bridge/engine/engine.h"
#include "forwarding.h"
#include "frame_pool.h"
#include "link.h"

enum { BRIDGE_PORTS_MAX = 256 };

enum bridge_steering {
	BRIDGE_STEER_MARKED, /* RoCE SENDs with the DSCP of aggregation traffic */
	BRIDGE_STEER_ALL,    /* every RoCE SEND */
};

/* A frame leaves on `port`; the reference passes to the callee. False: it had to drop it. */
typedef bool bridge_transmit(void *context, unsigned port, uint64_t time_ns, struct frame *frame);

struct bridge_config {
	unsigned ports;
	enum bridge_steering steering;
	struct link_faults faults[LINK_SIDES];
	uint64_t seed;
	uint64_t reset_every; /* frames for the aggregator until it is as new again; 0: never */
	uint64_t off_after;   /* frames for it until it takes no more; 0: never */
	uint64_t stuck_after; /* frames for it until it swallows all; 0: never */
	uint64_t job_ttl_ns; /* a job is forgotten after one to two of these of silence; 0: never */
	uint64_t quiet_ns;   /* after a reset, and of a flow that may be put out; 0: none */
	bool is_virtual;     /* time is driven by bridge_step(), not by bridge_advance() */
	uint64_t forwarding_ns; /* from the table of addresses to the port */
};

/* A new engine in place of the bridge's, which the callee closes; NULL: there is none. */
typedef struct engine *bridge_renew(void *context);

struct bridge {
	struct bridge_config config;
	struct frame_pool *pool;
	struct engine *engine;   /* or NULL: a plain switch */
	struct capture *capture; /* or NULL */
	bridge_transmit *transmit;
	void *transmit_context;
	bridge_renew *renew; /* for bridge_reset_engine() */
	void *renew_context;

	struct calendar calendar;
	struct forwarding forwarding;
	struct link links[BRIDGE_PORTS_MAX][LINK_SIDES];
	/* Frames of this port may wait in the engine. */
	bool is_waiting[BRIDGE_PORTS_MAX];
	bool is_holding; /* the calendar has the end of a hold, hold_end_ns or earlier */
	uint64_t hold_end_ns;
	uint64_t time_ns; /* of the frame or event that is being dealt with */
	uint64_t now_ns;  /* as far as time has got */
	bool is_ageing;   /* the next end of a time-to-live is in the calendar */
	uint64_t ticks;   /* ends of quiet times since time 0 that the engine knows of */

	uint64_t steered_frames;
	uint64_t engine_resets;
	uint64_t flooded_frames;
	uint64_t filtered_frames;  /* their destination is where they came from */
	uint64_t no_memory_frames; /* from the aggregator, dropped because no frame was free */
};

/*
 * `engine` and `capture` are set by the caller afterwards, if there are any; they and the pool
 * stay the caller's. 0, or -1 with errno ENOMEM.
 */
int bridge_open(struct bridge *bridge, const struct bridge_config *config, struct frame_pool *pool,
                bridge_transmit *transmit, void *transmit_context);
void bridge_close(struct bridge *bridge);

/* Time begins, if not at 0. */
void bridge_start(struct bridge *bridge, uint64_t time_ns);

/* A frame of FRAME_BYTES_MIN bytes or more has been read from a port; takes the reference. */
void bridge_receive(struct bridge *bridge, unsigned port, uint64_t time_ns, struct frame *frame);

/*
 * A new engine in place of the old one, which there must be. What waits in it, and all that it
 * knows, is lost, as when a board is reset.
 */
void bridge_reset_engine(struct bridge *bridge, uint64_t time_ns);

/* The host behind a port has gone: its addresses are forgotten. */
void bridge_close_port(struct bridge *bridge, unsigned port);

/*
 * Lets everything happen that is due by `time_ns` in the calendar, and a part of what the
 * aggregator has to do, whose `error` tells if it is stuck. True: it has more to do; send what
 * there is to send, look for frames, and come back at once.
 */
bool bridge_advance(struct bridge *bridge, uint64_t time_ns);

/*
 * Virtual time, in place of bridge_advance(): lets happen what comes next, if it comes by
 * `until_ns`. Returns how far time got: until_ns if nothing comes before it any more.
 */
uint64_t bridge_step(struct bridge *bridge, uint64_t until_ns);

/* Lets the aggregator do all that it can, and hold nothing back: the end is near. */
void bridge_finish(struct bridge *bridge);

/* An engine_emit, context the bridge: its frames go on as if they had come from the port. */
void bridge_aggregated(void *context, unsigned port, const uint8_t *frame, size_t length);

#endif
