/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The aggregator of docs/protocol.md in plain C. It makes the same decisions, frames and counts
 * as the RTL, one frame at a time.
 *
 * Not thread-safe: one aggregator belongs to one thread at a time. Different aggregators share
 * nothing.
 */
#ifndef INA_AGGREGATOR_H
#define INA_AGGREGATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counters.h"
#include "lack.h"
#include "report.h"

enum { AGGREGATOR_PORTS_MAX = 32 };

struct aggregator;

/*
 * Place in a tree of switches (docs/protocol.md, Several switches). All zeros: the switch is
 * alone.
 */
struct aggregator_place {
	unsigned level;   /* 1 if only hosts are below, to INA_WIRE_LEVELS; 0 means 1 */
	uint32_t uplinks; /* mask of the ports that lead up; never all ports */
	uint64_t id;      /* id written into TRACEs; 0: it fills no TRACE */
};

/* The RTL's parameters PORT_COUNT, JOB_COUNT, MEMORY, SLOT_COUNT, GRAIN and MTU. */
struct aggregator_config {
	unsigned ports; /* 2 to AGGREGATOR_PORTS_MAX */
	unsigned jobs;  /* contexts: 1 to AGGREGATOR_JOBS_MAX */
	/*
	 * Packets of each port's queue and of each history, shared by all jobs: at least
	 * window_packets, at least grain_packets for each job, at most AGGREGATOR_MEMORY_MAX. 0:
	 * window_packets for each job.
	 */
	unsigned memory_packets;
	/*
	 * Packets of the largest block that a job gets: a power of two, 2 to
	 * AGGREGATOR_WINDOW_MAX. The job is granted that many, or half as many at level 2 or
	 * higher. With a quota of ports or VLANs no job gets more than memory_packets / jobs.
	 */
	unsigned window_packets;
	/*
	 * Packets of the smallest block: a power of two, 1 to window_packets, at least 2 at level
	 * 2 or higher; memory_packets is a multiple of it. 0: the smallest allowed value.
	 */
	unsigned grain_packets;
	unsigned mtu_bytes;  /* largest payload: 256, 512, 1024, 2048 or 4096; 0 means 4096 */
	bool has_quiet_time; /* docs/protocol.md, Reset; needs aggregator_tick() */
	                     /* false: no quiet time */
	bool has_patience;   /* docs/protocol.md, Suspects; needs aggregator_patience() */
	struct aggregator_lack lacks; /* all zeros: it lacks nothing */
	struct aggregator_place place;
	unsigned quota;      /* most jobs without all ranks that a port opened; 0: all but one */
	unsigned vlan_quota; /* most jobs of one VLAN; 0: all */
	/* For each port, the priority of JOINs whose VLAN tag does not count: 0 (lowest) to 7. */
	uint8_t port_priority[AGGREGATOR_PORTS_MAX];
	uint32_t trusted_ports; /* bit p: the VLAN tags of JOINs on port p count */
	report_tell *tell;      /* receives the events of jobs; or NULL */
	void *tell_context;
};

enum {
	AGGREGATOR_JOBS_MAX = 64,
	AGGREGATOR_MEMORY_MAX = 32768,
	AGGREGATOR_WINDOW_MAX = 4096,
	/* The RTL's defaults. */
	AGGREGATOR_DEFAULT_MEMORY_PACKETS = 512,
	AGGREGATOR_DEFAULT_WINDOW_PACKETS = 128,
	AGGREGATOR_DEFAULT_GRAIN_PACKETS = 8,
	/* A longer frame is discarded. It would fill half of the RTL's frame memory. */
	AGGREGATOR_FRAME_MAX = 256 * 64,
};

/*
 * Called for each frame that leaves by `port`. `frame` is valid only during the call. It must not
 * call aggregator_put() on the same aggregator.
 */
typedef void aggregator_emit(void *context, unsigned port, const uint8_t *frame, size_t length);

/*
 * Returns a new aggregator without jobs. All memory that it will ever use is allocated here:
 * about (ports + 2) * memory_packets * 4 KiB, which is touched only when it is used. Returns NULL
 * with errno EINVAL (a value is outside the limits above) or ENOMEM. The caller closes it.
 */
struct aggregator *aggregator_open(const struct aggregator_config *config, aggregator_emit *emit,
                                   void *context);
void aggregator_close(struct aggregator *aggregator); /* NULL is allowed */

/*
 * One Ethernet frame (without FCS) comes in on `port`. All resulting frames are emitted before
 * the call returns; if several packets become ready, they are emitted in the order of their
 * ports. `frame` may hold any bytes, and is not kept.
 */
void aggregator_put(struct aggregator *aggregator, unsigned port, const uint8_t *frame,
                    size_t length);

/*
 * End of one time-to-live. A job expires if no packet of it has come since the last call; if it
 * lacks a rank, only JOINs count. Then it is forgotten: its waiting packets are emitted with
 * their own payload, or dropped if it lacks a rank. The caller calls this at intervals that are
 * longer than the network can hold a packet back, and longer than the hosts' ACK timeout.
 */
void aggregator_age(struct aggregator *aggregator);

/*
 * To be called at intervals of the quiet time. An event that came before the last two calls is at
 * least one quiet time ago; the reset counts as such an event.
 */
void aggregator_tick(struct aggregator *aggregator);

/*
 * To be called at intervals of the patience with silent flows, which are longer than two of the
 * hosts' ACK timeouts. A packet that came before the last two calls is at least one such interval
 * ago.
 */
void aggregator_patience(struct aggregator *aggregator);

/* Reads the job that has context `index`. Returns false if the context is free. */
bool aggregator_read_job(const struct aggregator *aggregator, unsigned index,
                         struct report_job *report);

/*
 * An operator evicts a job: its packets are dropped for a quiet time, as after a reset, and then it
 * is forgotten. Returns false if no context has this job.
 */
bool aggregator_forget(struct aggregator *aggregator, uint64_t job_id);

/* The counts since the aggregator was opened. The pointer is valid until it is closed. */
const struct ina_counters *aggregator_counters(const struct aggregator *aggregator);

#endif
