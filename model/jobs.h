/* SPDX-License-Identifier: Apache-2.0 */
/* The table of jobs: who may join, who has joined, and what has become of it. */
#ifndef INA_MODEL_JOBS_H
#define INA_MODEL_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "counters.h"
#include "wire/ina_wire.h"

struct job {
	bool valid;
	bool broken;
	bool heard; /* a packet of one of its flows has come since the last jobs_age() */
	uint64_t job_id;
	unsigned rank_count;
	unsigned attached;  /* ranks that have joined */
	uint32_t port_mask; /* ports that have a flow of this job */
	uint32_t left;      /* those of them whose LEAVE has gone out */

	/* The message that the join is in. */
	bool in_message;
	uint8_t number_type; /* as in its header */
	uint8_t operation;   /* likewise */
	bool overflow;       /* an int32 sum of it has overflowed */
};

struct jobs {
	struct job *entries;
	unsigned job_count;
	unsigned port_count;
	unsigned slot_count;
	struct ina_counters *counters; /* the aggregator's */
};

bool jobs_open(struct jobs *jobs, unsigned job_count, unsigned port_count, unsigned slot_count,
               struct ina_counters *counters);
void jobs_close(struct jobs *jobs);

enum { JOBS_REFUSED = -1, JOBS_HELD = -2 };

/*
 * A JOIN with this header asks for a flow on `port`. Returns the job's index, JOBS_REFUSED, or
 * JOBS_HELD where the port holds its share of contexts alone (docs/protocol.md, Refusal).
 */
int jobs_admit(struct jobs *jobs, unsigned port, const struct ina_wire_header *header);

/* All ranks have joined. */
bool jobs_is_complete(const struct job *job);

/* From now on the job is not summed. Nothing new for a job that is broken already. */
void jobs_break(struct jobs *jobs, unsigned index);

/*
 * The time-to-live is over for whoever was silent since the last call. True: the job is, it has
 * expired, and is broken from now on; the caller frees it. False also for a free context.
 */
bool jobs_age(struct jobs *jobs, unsigned index);

/*
 * The LEAVE of `port` has gone out; with the last one the job goes, and all its flows (true).
 * Not before: a receiver may still lack a sum, and must be answered with it.
 */
bool jobs_leave(struct jobs *jobs, unsigned index, unsigned port);

#endif
