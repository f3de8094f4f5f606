/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One switch of a fabric, with its aggregator. It knows no cables, sockets or clocks: each frame
 * comes with its time, and later events are entries of the calendar.
 *
 *   enter -> [aggregator] -> forward -> send
 */
#ifndef INA_BRIDGE_BRIDGE_H
#define INA_BRIDGE_BRIDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "calendar.h"
#include "common/topology/routes.h"
#include "sim-bridge/aggregator/engine.h"
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
	uint64_t jobs;           /* of the aggregator; for this and the next two, 0: its default */
	uint64_t memory_packets; /* packets that a port can hold, for all jobs together */
	uint64_t window_packets; /* the largest window of a job */
	uint64_t quota; /* jobs with a missing rank that a port may have opened; 0: all but one */
	uint64_t vlan_quota;  /* jobs that one VLAN may have; 0: all */
	uint64_t reset_every; /* frames for the aggregator between two resets; 0: no resets */
	uint64_t off_after;   /* frames after which the aggregator gets no more; 0: never */
	uint64_t stuck_after; /* frames after which the aggregator drops all; 0: never */
	uint64_t job_ttl_ns;  /* a job expires after 1 to 2 of these without a packet; 0: never */
	uint64_t idle_ttl_ns; /* replaces job_ttl_ns while a context is lacked; 0: job_ttl_ns */
	uint64_t quiet_ns;    /* the quiet time after a reset; 0: none */
	uint64_t patience_ns; /* how long a flow must be silent before it is evicted; 0: no time */
	uint64_t forwarding_ns; /* time from the address lookup to the output port */
};

struct bridge;

/* A frame leaves by a port; its reference passes to the callee. */
typedef void bridge_send(void *context, const struct bridge *bridge, unsigned port,
                         uint64_t time_ns, struct frame *frame);

/* True if the queue in front of the port's cable is longer than its threshold. */
typedef bool bridge_is_congested(void *context, const struct bridge *bridge, unsigned port,
                                 uint64_t time_ns);

/* True if the cable has been out for so long that all switches avoid it. */
typedef bool bridge_is_avoided(void *context, unsigned cable, uint64_t time_ns);

/*
 * Makes a new engine for the bridge and closes its old one. Returns NULL, and leaves the old engine
 * in use, if it cannot make one.
 */
typedef struct engine *bridge_renew(void *context, struct bridge *bridge);

/* Something has happened to a job of the bridge's aggregator. */
typedef void bridge_tell(void *context, const struct bridge *bridge,
                         const struct report_event *event);

/* The parts that all switches of a fabric share. */
struct bridge_network {
	struct frame_pool *pool;
	struct calendar *calendar;
	const struct forwarding *hosts; /* the host of each MAC address */
	const struct topology_routes *routes;
	uint64_t now_ns; /* the time reached */
	bool is_virtual; /* fabric_step() drives time, not fabric_advance() */
	bridge_send *send;
	bridge_is_congested *is_congested;
	bridge_is_avoided *is_avoided; /* NULL: no cable is ever avoided */
	void *send_context;            /* the context of the three functions above */
	bridge_renew *renew;           /* used by bridge_reset_engine() */
	void *renew_context;
	bridge_tell *tell; /* or NULL */
	void *tell_context;
	bool is_draining; /* JOINs of jobs without a context pass the aggregators by */
};

/* The counters that a switch itself has, in addition to its aggregator's. */
#define BRIDGE_COUNTS(X)                                                                           \
	X(steered_frames, "frames that went to the aggregator")                                    \
	X(engine_resets, "resets of the aggregator")                                               \
	X(flooded_frames, "frames sent to all ports")                                              \
	X(filtered_frames, "dropped: they would have left by the port they came in on")            \
	X(drained_joins, "JOINs that passed the aggregator by while it was draining")              \
	X(foreign_joins, "JOINs dropped: their source was last seen at another port")              \
	X(congested_frames, "marked: the queue in which their sums leave is too long")             \
	X(no_memory_frames, "emitted by the aggregator, dropped: no frame was free")

struct bridge {
	struct bridge_config config;
	unsigned number; /* index in the topology */
	unsigned ports;
	struct bridge_network *network;
	struct engine *engine; /* or NULL: a plain switch */

	/* True if frames that came in on this port may still wait in the engine. */
	bool is_waiting[BRIDGE_PORTS_MAX];
	bool is_holding; /* the calendar has an event for the hold, at hold_end_ns or earlier */
	uint64_t hold_end_ns;
	uint64_t time_ns; /* of the frame or event that the bridge is processing */
	bool is_ageing;   /* the calendar has the next event for the times-to-live */
	uint64_t aged_ns; /* the time at which jobs last aged */
	uint64_t lacked;  /* the engine's counter contexts_lacked at the last such event */
	/* Ends of quiet times, and of patience, since time 0 that the engine has received. */
	uint64_t quiet_ends, patience_ends;

#define X(name, meaning) uint64_t name;
	BRIDGE_COUNTS(X)
#undef X
};

/* If the bridge has an engine, the caller sets `engine` afterwards and keeps its ownership. */
void bridge_open(struct bridge *bridge, const struct bridge_config *config, unsigned number,
                 struct bridge_network *network);

/* Sets the time at which the bridge starts; not needed if it is 0. */
void bridge_start(struct bridge *bridge, uint64_t time_ns);

/* A frame has come in on a port; the bridge takes the reference. */
void bridge_enter(struct bridge *bridge, unsigned port, uint64_t time_ns, struct frame *frame);

/*
 * Replaces the engine, which must exist, by a new one. Like the reset of a board, this loses all
 * state and all frames that wait in it.
 */
void bridge_reset_engine(struct bridge *bridge, uint64_t time_ns);

/* Call this before time advances: enters the next end of a time-to-live into the calendar. */
void bridge_keep_ageing(struct bridge *bridge);

/* Takes the times-to-live, the quiet time and the patience, none of which may become 0 or was 0. */
void bridge_set_times(struct bridge *bridge, const struct bridge_config *from, uint64_t time_ns);

/* Brings the jobs of the aggregator up to date, as the next frame would. */
void bridge_update(struct bridge *bridge, uint64_t time_ns);

/* Does part of the aggregator's pending work. Returns true if more is left. */
bool bridge_work(struct bridge *bridge, uint64_t time_ns);

/* Processes all frames in the aggregator, and holds none back. */
void bridge_finish(struct bridge *bridge);

/* Implements engine_emit; `context` is the bridge. Forwards the frame as if it came from `port`. */
void bridge_aggregated(void *context, unsigned port, const uint8_t *frame, size_t length);

/*
 * Reads the job with this id. Returns false if no context has it, or if the switch has no
 * aggregator that tells of its jobs.
 */
bool bridge_find_job(const struct bridge *bridge, uint64_t job_id, struct report_job *job);

/* Implements report_tell; `context` is the bridge. */
void bridge_report(void *context, const struct report_event *event);

#endif
