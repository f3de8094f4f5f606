/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The aggregator of docs/protocol.md in plain C: the same decisions, frames and
 * counts as the RTL, one frame at a time.
 *
 * Not thread-safe: one aggregator belongs to one thread at a time. Different
 * aggregators share nothing.
 */
#ifndef INA_AGGREGATOR_H
#define INA_AGGREGATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counters.h"
#include "lack.h"

enum { AGGREGATOR_PORTS_MAX = 32 };

struct aggregator;

/* Where in a tree of switches it stands (docs/protocol.md, Several switches). Zeros: alone. */
struct aggregator_place {
	unsigned level;   /* 1 for a switch of hosts, to INA_WIRE_LEVELS (1 also as 0) */
	uint32_t uplinks; /* a mask of the ports that lead up; not all ports */
	uint64_t id;      /* what it writes into a TRACE; 0: nothing */
};

/* The RTL's parameters PORT_COUNT, JOB_COUNT, MEMORY, SLOT_COUNT, GRAIN and MTU. */
struct aggregator_config {
	unsigned ports; /* 2 to AGGREGATOR_PORTS_MAX */
	unsigned jobs;  /* contexts: 1 to AGGREGATOR_JOBS_MAX */
	/*
	 * Of each port's queue and of the history, which all jobs share: no less than
	 * window_packets and than grain_packets for each job, to AGGREGATOR_MEMORY_MAX.
	 * 0: window_packets for each job.
	 */
	unsigned memory_packets;
	/*
	 * The largest part of it that a job has: a power of two, 2 to AGGREGATOR_WINDOW_MAX. The
	 * job is granted as much, or half of it at level 2 or higher. With a quota of either kind
	 * it has no more than memory_packets / jobs.
	 */
	unsigned window_packets;
	/*
	 * The smallest part of it that a job has: a power of two, to window_packets, of which the
	 * memory is a multiple; at level 2 or higher 2 at least. 0: the least.
	 */
	unsigned grain_packets;
	unsigned mtu_bytes;  /* the largest payload: 256, 512, 1024, 2048, 4096 (also as 0) */
	bool has_quiet_time; /* docs/protocol.md, Reset: its ends are those of */
	                     /* aggregator_tick(). Else it is over at once */
	bool has_patience;   /* docs/protocol.md, Suspects: likewise, aggregator_patience() */
	struct aggregator_lack lacks; /* nothing, where it is zeros */
	struct aggregator_place place;
	unsigned quota;      /* jobs that a port may have opened and that lack a rank; 0: all but one */
	unsigned vlan_quota; /* jobs that one VLAN may have; 0: all */
	/* By port, of its JOINs whose VLAN tag does not count: 0, the lowest, to 7. */
	uint8_t port_priority[AGGREGATOR_PORTS_MAX];
	uint32_t trusted_ports; /* whose JOINs' VLAN tags count: bit p is port p */
};

enum {
	AGGREGATOR_JOBS_MAX = 64,
	AGGREGATOR_MEMORY_MAX = 32768,
	AGGREGATOR_WINDOW_MAX = 4096,
	/* The RTL's defaults. */
	AGGREGATOR_DEFAULT_JOBS = 16,
	AGGREGATOR_DEFAULT_MEMORY_PACKETS = 512,
	AGGREGATOR_DEFAULT_WINDOW_PACKETS = 128,
	AGGREGATOR_DEFAULT_GRAIN_PACKETS = 8,
	/* A longer frame is discarded: half of a pipeline's frame memory. */
	AGGREGATOR_FRAME_MAX = 256 * 64,
};

/*
 * Called for each frame that leaves on the pipeline of `port`. `frame` is valid during the call
 * only. Must not call aggregator_put() on the same aggregator.
 */
typedef void aggregator_emit(void *context, unsigned port, const uint8_t *frame, size_t length);

/*
 * A new aggregator that knows no jobs. All memory it will ever use is allocated here:
 * about (ports + 2) * memory_packets * 4 KiB, touched only as it is used.
 * NULL with errno EINVAL (a limit above is not kept) or ENOMEM. To be closed by the caller.
 */
struct aggregator *aggregator_open(const struct aggregator_config *config, aggregator_emit *emit,
                                   void *context);
void aggregator_close(struct aggregator *aggregator); /* NULL is fine */

/*
 * One Ethernet frame (without FCS) comes in on `port`. Emits all that follows from it
 * before it returns, in the order of the ports where several packets are freed at once.
 * Any bytes will do; `frame` is not kept.
 */
void aggregator_put(struct aggregator *aggregator, unsigned port, const uint8_t *frame,
                    size_t length);

/*
 * The time-to-live of jobs: a job of which no packet has come since the last call has expired.
 * What waits of it is emitted with its own payload, and its context is free. To be called at
 * intervals longer than a network can hold a packet back and than the hosts' ACK timeout.
 */
void aggregator_age(struct aggregator *aggregator);

/*
 * The quiet time: to be called at intervals of it. What came before the last two calls is a quiet
 * time or longer ago; and so is the reset, where these two are the first.
 */
void aggregator_tick(struct aggregator *aggregator);

/*
 * The patience with silent flows: to be called at intervals of it, which are longer than two of the
 * hosts' ACK timeouts. A packet that came before the last two calls is that long ago.
 */
void aggregator_patience(struct aggregator *aggregator);

/* What was counted since the start; valid until the close. */
const struct ina_counters *aggregator_counters(const struct aggregator *aggregator);

#endif
