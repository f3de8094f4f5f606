/* SPDX-License-Identifier: Apache-2.0 */
/* The job table: which ranks may join and which have joined, and the state of each job. */
#ifndef INA_MODEL_JOBS_H
#define INA_MODEL_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "counters.h"
#include "memory.h"
#include "report.h"
#include "wire/ina_wire.h"

struct job {
	bool valid;
	bool broken;
	/* Since the last jobs_age(): a rank's JOIN came, or, once all have joined, any packet. */
	bool heard;
	uint64_t job_id;
	unsigned opener; /* port of the JOIN that opened the job */
	uint16_t tag;    /* of the JOIN that opened the job, as in jobs_admit() */
	bool asked;      /* it may be asked for its context, and no trailer has asked yet */
	unsigned rank_count;
	unsigned child_count;      /* children (hosts or switches) with ranks of the job */
	unsigned attached;         /* children that have joined */
	struct memory_block block; /* the job's packets in all queues and histories */
	unsigned window_packets;   /* window that the hosts are granted */
	unsigned before;           /* number of jobs that had a context when it got its own */
	uint32_t port_mask;        /* ports of the children that have joined */
	uint32_t left;             /* ports of the children whose LEAVE has gone out */
	unsigned quiet; /* ticks of the quiet time after it broke; its packets are dropped */

	/* docs/protocol.md, Several switches. */
	bool has_border;
	bool has_down;
	unsigned border;     /* port of the border; valid if has_border */
	unsigned down;       /* uplink of the down flow; valid if has_down */
	uint64_t up_count;   /* packets of each flow summed here; at the top equal to down_count */
	uint64_t down_count; /* packets whose sum of all ranks has gone out */

	bool congested; /* it has met congestion since its last trailer */

	/* The message that UP is in; the fields below are valid if in_message. */
	bool in_message;
	uint8_t number_type; /* as in the message header */
	uint8_t operation;   /* as in the message header */
	bool overflow;       /* an int32 sum of the message has overflowed */
};

struct jobs {
	struct job *entries;
	struct memory *memory; /* the aggregator's; each valid job has a block of it */
	unsigned job_count;
	unsigned quota;               /* most jobs lacking a rank that one port may have opened */
	unsigned vlan_quota;          /* most contexts of one VLAN's jobs */
	const uint8_t *port_priority; /* indexed by port; of JOINs whose VLAN tag does not count */
	uint32_t trusted;             /* bit p: the VLAN tags of JOINs on port p count */
	unsigned port_count;
	unsigned level;          /* of this switch, 1 to INA_WIRE_LEVELS */
	uint64_t wanted_by;      /* job id of the last JOIN that asked for a context */
	unsigned quiet_ticks;    /* ticks that end a quiet time; 0: no quiet time */
	unsigned patience_ticks; /* calls of judge_patience() that make a flow silent */
	uint32_t uplinks;
	struct ina_counters *counters; /* the aggregator's */
	report_tell *tell;             /* or NULL */
	void *tell_context;
};

/* Copies all fields of `shape` except `entries`, and allocates these. False: out of memory. */
bool jobs_open(struct jobs *jobs, const struct jobs *shape);
void jobs_close(struct jobs *jobs);

enum { JOBS_REFUSED = -1, JOBS_HELD = -2 };

/*
 * A JOIN with this header asks for a flow on `port`. `tag` is its VLAN tag (packet_tag()) or, if
 * its tag does not count, the port's priority alone. Returns the index of the job, JOBS_REFUSED,
 * or JOBS_HELD if the JOIN is to be dropped and retransmitted (docs/protocol.md, Refusal).
 */
int jobs_admit(struct jobs *jobs, unsigned port, const struct ina_wire_header *header,
               uint16_t tag);

/* Returns the number of jobs that have a context. */
unsigned jobs_count(const struct jobs *jobs);

/* The trailer of one of the jobs that may be asked has asked for a context. */
void jobs_have_asked(struct jobs *jobs);

/* Returns whether the port leads to a higher switch. */
bool jobs_is_uplink(const struct jobs *jobs, unsigned port);

/* Returns whether all children have joined. */
bool jobs_is_complete(const struct job *job);

/* Returns whether the flow of `port` is the job's border, or its down flow. */
bool jobs_is_border(const struct job *job, unsigned port);
bool jobs_is_down(const struct job *job, unsigned port);

/* Returns whether `port` has a child with ranks of the job. */
bool jobs_has_child(const struct job *job, unsigned port);

/* Returns how many packets of the flow of `port` have left with a sum or part. */
uint64_t jobs_sums_sent(const struct job *job, unsigned port);

/* Tells about an event of the job at `index`. */
void jobs_tell(const struct jobs *jobs, unsigned index, struct report_event event);

/*
 * The job is no longer summed, for the reason in `why`, which also has the port. No effect if the
 * job is broken already.
 */
void jobs_break(struct jobs *jobs, unsigned index, struct report_event why);

/*
 * End of one time-to-live for the job at `index`. True: it was silent since the last call and has
 * expired; if all children had joined, it is broken now. The caller frees it. False for a free
 * context, too.
 */
bool jobs_age(struct jobs *jobs, unsigned index);

/*
 * The LEAVE of the child at `port` has gone out. True: that was the last child's, and the job is
 * freed with all its flows. Not earlier, because a receiver may still lack a sum, and must get it
 * as an answer. If there are other switches, a broken job is kept for another quiet time.
 */
bool jobs_leave(struct jobs *jobs, unsigned index, unsigned port);

/*
 * An operator evicts the job at `index`, which must be valid: its packets are dropped for a quiet
 * time. True: there is no quiet time, and it is freed with all its flows.
 */
bool jobs_forget(struct jobs *jobs, unsigned index);

/*
 * A tick of the quiet time for the job at `index`. True: its quiet time has ended, and it is
 * freed with all its flows.
 */
bool jobs_tick(struct jobs *jobs, unsigned index);

#endif
