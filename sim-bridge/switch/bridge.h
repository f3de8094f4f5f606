/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One switch of a fabric, and the aggregator beside it. Knows no cables, no sockets and no clock:
 * frames come with their time, what is to happen later is in the calendar.
 *
 *   enter -> [aggregator] -> forward -> send
 */
#ifndef INA_BRIDGE_BRIDGE_H
#define INA_BRIDGE_BRIDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "calendar.h"
#include "common/topology_routes.h"
#include "sim-bridge/engine/engine.h"
#include "forwarding.h"
#include "frame_pool.h"

enum { BRIDGE_PORTS_MAX = TOPOLOGY_HOSTS_MAX };

enum bridge_steering {
	BRIDGE_STEER_MARKED, /* RoCE SENDs with the DSCP of aggregation traffic */
	BRIDGE_STEER_ALL,    /* every RoCE SEND */
};

enum bridge_aggregator { BRIDGE_RTL, BRIDGE_MODEL, BRIDGE_OFF };

struct bridge_config {
	uint64_t aggregator; /* one of enum bridge_aggregator */
	uint64_t steering;   /* one of enum bridge_steering */
	uint64_t rtl_clock_hz;
	uint64_t jobs;           /* of the aggregator; this and the next two, 0: its defaults */
	uint64_t memory_packets; /* of all its jobs, a port */
	uint64_t window_packets; /* of a job at most */
	uint64_t quota; /* jobs that a port may have opened and that lack a rank; 0: all but one */
	uint64_t vlan_quota;  /* jobs that one VLAN may have; 0: all */
	uint64_t reset_every; /* frames for the aggregator until it is as new again; 0: never */
	uint64_t off_after;   /* frames for it until it takes no more; 0: never */
	uint64_t stuck_after; /* frames for it until it swallows all; 0: never */
	uint64_t job_ttl_ns; /* a job is forgotten after one to two of these of silence; 0: never */
	uint64_t idle_ttl_ns;   /* likewise, while a context is lacked; 0: as job_ttl_ns */
	uint64_t quiet_ns;      /* after a reset; 0: none */
	uint64_t patience_ns;   /* how long a flow that is put out has been silent; 0: not at all */
	uint64_t forwarding_ns; /* from the table of addresses to the port */
};

struct bridge;

/* A frame leaves on a port; the reference passes to the callee. */
typedef void bridge_send(void *context, const struct bridge *bridge, unsigned port,
                         uint64_t time_ns, struct frame *frame);

/* Is the queue in front of the port's cable above its threshold? */
typedef bool bridge_is_congested(void *context, const struct bridge *bridge, unsigned port,
                                 uint64_t time_ns);

/* Has the cable been out for so long that all switches know of it, and go other ways? */
typedef bool bridge_is_avoided(void *context, unsigned cable, uint64_t time_ns);

/* A new engine in place of the bridge's, which the callee closes; NULL: there is none. */
typedef struct engine *bridge_renew(void *context, struct bridge *bridge);

/* What all switches of a fabric have in common. */
struct bridge_network {
	struct frame_pool *pool;
	struct calendar *calendar;
	const struct forwarding *hosts; /* behind which host each address is */
	const struct topology_routes *routes;
	uint64_t now_ns; /* as far as time has got */
	bool is_virtual; /* time is driven by fabric_step(), not by fabric_advance() */
	bridge_send *send;
	bridge_is_congested *is_congested;
	bridge_is_avoided *is_avoided; /* NULL: none ever is */
	void *send_context;            /* of these */
	bridge_renew *renew;           /* for bridge_reset_engine() */
	void *renew_context;
};

struct bridge {
	struct bridge_config config;
	unsigned number; /* in the topology */
	unsigned ports;
	struct bridge_network *network;
	struct engine *engine; /* or NULL: a plain switch */

	/* Frames of this port may wait in the engine. */
	bool is_waiting[BRIDGE_PORTS_MAX];
	bool is_holding; /* the calendar has the end of a hold, hold_end_ns or earlier */
	uint64_t hold_end_ns;
	uint64_t time_ns; /* of the frame or event that is being dealt with */
	bool is_ageing;   /* the next time to look whether jobs age is in the calendar */
	uint64_t aged_ns; /* when they did */
	uint64_t lacked;  /* JOINs that had lacked a context when that was last looked at */
	/* Ends of quiet times, and of patience, since time 0 that the engine knows of. */
	uint64_t quiet_ends, patience_ends;

	uint64_t steered_frames;
	uint64_t engine_resets;
	uint64_t flooded_frames;
	uint64_t filtered_frames;  /* their destination is where they came from */
	uint64_t foreign_joins;    /* dropped, for their source was last seen at another port */
	uint64_t congested_frames; /* marked, for the queue where their sums leave is too long */
	uint64_t no_memory_frames; /* from the aggregator, dropped because no frame was free */
};

/* `engine` is set by the caller afterwards, if there is one, and stays the caller's. */
void bridge_open(struct bridge *bridge, const struct bridge_config *config, unsigned number,
                 struct bridge_network *network);

/* Time begins, if not at 0. */
void bridge_start(struct bridge *bridge, uint64_t time_ns);

/* A frame has come in on a port; takes the reference. */
void bridge_enter(struct bridge *bridge, unsigned port, uint64_t time_ns, struct frame *frame);

/*
 * A new engine in place of the old one, which there must be. What waits in it, and all that it
 * knows, is lost, as when a board is reset.
 */
void bridge_reset_engine(struct bridge *bridge, uint64_t time_ns);

/* To be called before time goes on: the ends of times-to-live are in the calendar from then on. */
void bridge_keep_ageing(struct bridge *bridge);

/* Does a part of what the aggregator has to do. True: it has more. */
bool bridge_work(struct bridge *bridge, uint64_t time_ns);

/* Lets the aggregator do all that it can, and hold nothing back. */
void bridge_finish(struct bridge *bridge);

/* An engine_emit, context the bridge: its frames go on as if they had come from the port. */
void bridge_aggregated(void *context, unsigned port, const uint8_t *frame, size_t length);

#endif
