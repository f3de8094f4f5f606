/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All switches and the cables between them, one switch being the simplest fabric. Knows no sockets
 * and no clock: frames come with their time, what is to happen later is in the calendar.
 *
 *   receive -> host's cable -> capture, learn -> switch -> cable -> capture -> ... switch
 *           -> host's cable -> capture -> transmit
 *
 * A cable makes its faults in each direction. One between switches takes its time here, too, that
 * of a host where the host's frames come from.
 */
#ifndef INA_BRIDGE_FABRIC_H
#define INA_BRIDGE_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "bridge.h"
#include "cable.h"
#include "capture.h"
#include "common/topology.h"
#include "link.h"

/* A frame leaves to `host`; the reference passes to the callee. False: it had to drop it. */
typedef bool fabric_transmit(void *context, unsigned host, uint64_t time_ns, struct frame *frame);

struct cable_config {
	struct link_faults faults[LINK_SIDES];
	uint64_t bits_per_second;
	uint64_t delay_ns;
	uint64_t queue_bytes;   /* in front of it, at a switch; 0: no limit */
	uint64_t marking_bytes; /* a longer queue marks congestion experienced; 0: never */
	uint64_t trusts_tags;   /* the VLAN tags of JOINs that come in by it count */
	uint64_t port_priority; /* of JOINs whose tag does not count; 0 to 7 */
	/* It is out from the one until the other, counted from the common start of all hosts. */
	uint64_t cut_ns;
	uint64_t mend_ns;
};

struct fabric_config {
	struct topology *topology;
	struct bridge_config bridges[TOPOLOGY_SWITCHES_MAX];
	struct cable_config cables[TOPOLOGY_CABLES_MAX];
	bool is_captured[TOPOLOGY_CABLES_MAX];
	uint64_t seed;
	bool is_virtual;
};

/* Of one direction of a cable between switches. */
#define TRUNK_COUNTS(X)                                                                            \
	X(frames, "that were sent")                                                                \
	X(bytes, "of these")                                                                       \
	X(dropped_queue_full, "")                                                                  \
	X(dropped_cut, "for the cable was out")                                                    \
	X(marked, "with congestion experienced")                                                   \
	X(no_memory, "dropped because the calendar was full")

struct trunk_counts {
#define X(name, meaning) uint64_t name;
	TRUNK_COUNTS(X)
#undef X
};

struct fabric_cable {
	const struct topology_cable *at;
	const struct cable_config *config;
	struct link links[LINK_SIDES];
	struct cable wires[LINK_SIDES];         /* of a host's, virtual time is who sends on them */
	struct trunk_counts counts[LINK_SIDES]; /* between switches */
};

struct fabric {
	const struct fabric_config *config;
	const struct topology *topology;
	struct capture *capture; /* or NULL */
	fabric_transmit *transmit;
	void *transmit_context;
	uint64_t hosts_start_ns; /* of all hosts, set by the caller; CALENDAR_NEVER before */
	uint64_t start_ns;       /* when time began: cables count picoseconds from there on */
	struct calendar calendar;
	struct forwarding hosts;
	struct forwarding sources; /* likewise, by IP addresses */
	struct topology_routes routes;
	struct bridge_network network;
	struct bridge *bridges;      /* by their numbers in the topology */
	struct fabric_cable *cables; /* so too */
};

/*
 * Engines and `capture` are set by the caller afterwards, if there are any; they, the pool and what
 * config points to stay the caller's. 0, or -1 with errno ENOMEM.
 */
int fabric_open(struct fabric *fabric, const struct fabric_config *config, struct frame_pool *pool,
                fabric_transmit *transmit, void *transmit_context);
void fabric_close(struct fabric *fabric);

/* Time begins, if not at 0. */
void fabric_start(struct fabric *fabric, uint64_t time_ns);

/* A frame of FRAME_BYTES_MIN bytes or more has come from a host; takes the reference. */
void fabric_receive(struct fabric *fabric, unsigned host, uint64_t time_ns, struct frame *frame);

/* A host has gone: its addresses are forgotten. */
void fabric_close_host(struct fabric *fabric, unsigned host);

/* Whether a cable is out. */
bool fabric_is_cut(const struct fabric *fabric, unsigned cable, uint64_t time_ns);

/* As new: the aggregator of a switch, or of all (TOPOLOGY_NONE). */
void fabric_reset_engines(struct fabric *fabric, unsigned number, uint64_t time_ns);

/*
 * Lets everything happen that is due by `time_ns` in the calendar, and a part of what the
 * aggregators have to do. True: they have more to do; send what there is to send, look for frames,
 * and come back at once.
 */
bool fabric_advance(struct fabric *fabric, uint64_t time_ns);

/*
 * Virtual time, in place of fabric_advance(): lets happen what comes next, if it comes by
 * `until_ns`. Returns how far time got: until_ns if nothing comes before it any more.
 */
uint64_t fabric_step(struct fabric *fabric, uint64_t until_ns);

/* Lets the aggregators do all that they can, and hold nothing back: the end is near. */
void fabric_finish(struct fabric *fabric);

/* What an aggregator that is stuck says, or NULL. */
const char *fabric_error(const struct fabric *fabric);

#endif
