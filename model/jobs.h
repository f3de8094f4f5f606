/* SPDX-License-Identifier: Apache-2.0 */
/* The table of jobs: who may join, who has joined, and what has become of it. */
#ifndef INA_MODEL_JOBS_H
#define INA_MODEL_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "counters.h"
#include "memory.h"
#include "wire/ina_wire.h"

struct job {
	bool valid;
	bool broken;
	bool heard; /* since the last jobs_age(): a JOIN of a rank; once all have joined, any packet
	             */
	uint64_t job_id;
	unsigned opener; /* the port by which the JOIN came that opened it */
	uint16_t tag;    /* of the JOIN that opened it, as jobs_admit() has it */
	bool asked;      /* another one was refused for want of its context, or of one of some */
	unsigned rank_count;
	unsigned child_count;      /* children, hosts or switches, that have ranks of the job */
	unsigned attached;         /* those of them that have joined */
	struct memory_block block; /* of all queues and histories */
	unsigned window_packets;   /* that its hosts are granted */
	unsigned before;           /* jobs that had a context when it got its own */
	uint32_t port_mask;        /* their ports */
	uint32_t left;             /* those of them whose LEAVE has gone out */
	unsigned quiet; /* ticks until it is forgotten: all have left, its packets are dropped */

	/* docs/protocol.md, Several switches. */
	bool has_border;
	bool has_down;
	unsigned border;     /* port of the flow whose sums are made higher up */
	unsigned down;       /* uplink of the flow that brings them */
	uint64_t up_count;   /* packets of each flow whose sum has been made here */
	uint64_t down_count; /* packets whose sum of all ranks has gone out: as many at the top */

	bool congested; /* it has met congestion since its last trailer */

	/* The message that UP is in. */
	bool in_message;
	uint8_t number_type; /* as in its header */
	uint8_t operation;   /* likewise */
	bool overflow;       /* an int32 sum of it has overflowed */
};

struct jobs {
	struct job *entries;
	struct memory *memory; /* the aggregator's; the blocks of the valid ones are taken */
	unsigned job_count;
	unsigned quota;               /* that lack a rank and one port may have opened */
	unsigned vlan_quota;          /* that the jobs of one VLAN may have */
	const uint8_t *port_priority; /* by port, of JOINs whose tag does not count */
	uint32_t trusted;             /* ports whose JOINs' VLAN tags count */
	unsigned port_count;
	unsigned level;          /* of this switch */
	uint64_t wanted_by;      /* the job that was the last to ask for a context */
	unsigned quiet_ticks;    /* until a quiet time that begins now is over; 0: there is none */
	unsigned patience_ticks; /* until a flow that is heard now has been silent for long */
	uint32_t uplinks;
	struct ina_counters *counters; /* the aggregator's */
};

/* `shape` says all but the entries. False: no memory. */
bool jobs_open(struct jobs *jobs, const struct jobs *shape);
void jobs_close(struct jobs *jobs);

enum { JOBS_REFUSED = -1, JOBS_HELD = -2 };

/*
 * A JOIN with this header asks for a flow on `port`. `tag` is that of its VLAN (packet_tag()), or
 * has the port's priority alone where tags do not count. Returns the job's index, JOBS_REFUSED, or
 * JOBS_HELD where it has to come again (docs/protocol.md, Refusal).
 */
int jobs_admit(struct jobs *jobs, unsigned port, const struct ina_wire_header *header,
               uint16_t tag);

/* How many jobs have a context. */
unsigned jobs_count(const struct jobs *jobs);

/* A trailer of one of the jobs that are asked for a context has said so. */
void jobs_have_asked(struct jobs *jobs);

/* Does the port lead to a switch above? */
bool jobs_is_uplink(const struct jobs *jobs, unsigned port);

/* All children have joined. */
bool jobs_is_complete(const struct job *job);

/* Is the flow of `port` the job's border? Its down flow? */
bool jobs_is_border(const struct job *job, unsigned port);
bool jobs_is_down(const struct job *job, unsigned port);

/* Has `port` a child with ranks of the job? */
bool jobs_has_child(const struct job *job, unsigned port);

/* How many packets of the flow of `port` have gone out with a sum. */
uint64_t jobs_sums_sent(const struct job *job, unsigned port);

/* From now on the job is not summed. Nothing new for a job that is broken already. */
void jobs_break(struct jobs *jobs, unsigned index);

/*
 * The time-to-live is over for whoever was silent since the last call. True: the job is, it has
 * expired, and is broken from now on; the caller frees it. False also for a free context.
 */
bool jobs_age(struct jobs *jobs, unsigned index);

/*
 * The LEAVE of the child at `port` has gone out; with the last one the job goes, and all its flows
 * (true).
 * Not before: a receiver may still lack a sum, and must be answered with it.
 * Where there are other switches, a broken job stays for a quiet time more.
 */
bool jobs_leave(struct jobs *jobs, unsigned index, unsigned port);

/* A tick of the quiet time. True: the job's is over; it goes, and all its flows. */
bool jobs_tick(struct jobs *jobs, unsigned index);

#endif
