/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All switches, and the cables between them; the simplest fabric is one switch. It knows no sockets
 * or clocks: each frame comes with its time, and later events are entries of the calendar.
 *
 *   receive -> host's cable -> capture, learn -> switch -> cable -> capture -> ... switch
 *           -> host's cable -> capture -> transmit
 *
 * The fabric injects the faults of all cables, in each direction. It also models the time that
 * frames take on cables between switches; virtual/ models that of the hosts' cables.
 */
#ifndef INA_BRIDGE_FABRIC_H
#define INA_BRIDGE_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "bridge.h"
#include "cable.h"
#include "capture.h"
#include "common/topology/topology.h"
#include "cable_direction.h"
#include "sights.h"

/*
 * A frame leaves to `host`; its reference passes to the callee, which returns false if it had to
 * drop the frame.
 */
typedef bool fabric_transmit(void *context, unsigned host, uint64_t time_ns, struct frame *frame);

struct cable_config {
	struct link_faults faults[LINK_SIDES];
	uint64_t bits_per_second;
	uint64_t delay_ns;
	uint64_t queue_bytes;   /* capacity of the queue in front of it, at a switch; 0: no limit */
	uint64_t marking_bytes; /* a longer queue marks congestion experienced; 0: never */
	uint64_t trusts_tags;   /* whether VLAN tags of JOINs that come in on it are trusted */
	uint64_t port_priority; /* of JOINs without a trusted tag; 0 to 7 */
	/* The cable is out from cut_ns to mend_ns, in ns after the common start of all hosts. */
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

/* Counters of one direction of a cable between switches. */
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
	struct cable wires[LINK_SIDES];         /* for a host's cable, only virtual/ sends on it */
	struct trunk_counts counts[LINK_SIDES]; /* between switches */
	struct capture *capture;                /* at its upper end, as Ethernet; or NULL */
};

struct fabric {
	const struct fabric_config *config;
	const struct topology *topology;
	struct capture *capture; /* of all captured cables, cooked; or NULL */
	fabric_transmit *transmit;
	void *transmit_context;
	uint64_t hosts_start_ns; /* common start, set by the caller; or CALENDAR_NEVER */
	uint64_t start_ns;       /* when time began: cables count picoseconds from then on */
	struct calendar calendar;
	struct forwarding hosts;   /* the host of each MAC address */
	struct forwarding sources; /* the host of each source IP address */
	struct sights sights;
	struct topology_routes routes;
	struct bridge_network network;
	struct bridge *bridges;      /* by number in the topology */
	struct fabric_cable *cables; /* by number in the topology */
};

/*
 * The caller sets the engines and captures afterwards, if there are any. It keeps ownership of
 * them, of the pool, and of everything that `config` points to. Returns 0, or -1 with errno ENOMEM.
 */
int fabric_open(struct fabric *fabric, const struct fabric_config *config, struct frame_pool *pool,
                fabric_transmit *transmit, void *transmit_context);
void fabric_close(struct fabric *fabric);

/* Sets the time at which the fabric starts; not needed if it is 0. */
void fabric_start(struct fabric *fabric, uint64_t time_ns);

/* A host has sent a frame of at least FRAME_BYTES_MIN bytes; takes the reference. */
void fabric_receive(struct fabric *fabric, unsigned host, uint64_t time_ns, struct frame *frame);

/* A host has disconnected: the fabric forgets its addresses. */
void fabric_close_host(struct fabric *fabric, unsigned host);

/* True if the cable is out. */
bool fabric_is_cut(const struct fabric *fabric, unsigned cable, uint64_t time_ns);

/* Resets the aggregator of switch `number`, or of all switches (TOPOLOGY_NONE). */
void fabric_reset_engines(struct fabric *fabric, unsigned number, uint64_t time_ns);

/*
 * Runs all calendar events that are due by `time_ns`, and does part of the aggregators' pending
 * work. Returns true if more work is left: the caller then sends waiting frames, looks for new
 * frames, and calls again without waiting.
 */
bool fabric_advance(struct fabric *fabric, uint64_t time_ns);

/*
 * Virtual time, instead of fabric_advance(): runs the next event, if it is due by `until_ns`.
 * Returns the time reached, which is until_ns if no event is left before it.
 */
uint64_t fabric_step(struct fabric *fabric, uint64_t until_ns);

/* The same, but leaves the events of until_ns itself, for frames that come in before them. */
uint64_t fabric_step_before(struct fabric *fabric, uint64_t until_ns);

/* Processes all frames in the aggregators, and holds none back; used at the end of a run. */
void fabric_finish(struct fabric *fabric);

/* The error of an aggregator that is stuck, or NULL. */
const char *fabric_error(const struct fabric *fabric);

#endif
