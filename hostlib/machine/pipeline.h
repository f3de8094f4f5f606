/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of one all-reduce of machines with several ranks, through shared memory and a rail. */
#ifndef INA_MACHINE_PIPELINE_H
#define INA_MACHINE_PIPELINE_H

#include "hostlib/channels/strands.h"
#include "intra.h"
#include "local.h"

/* A rail's sums, and how many of them this rank has copied. */
struct ina_taking {
	uint64_t steps;
	/* when the present read is complete (ina_intra_read()); 0: no read is under way */
	int64_t ready_ns;
};

/* One all-reduce, and this rank's progress in it. A step is a segment on each rail. */
struct ina_pipeline {
	struct ina_transfer transfer;
	uint64_t base;        /* steps of all earlier all-reduces of the communicator */
	uint64_t steps;       /* of this all-reduce */
	size_t part_bytes;    /* of each rail; the last rails may have less */
	size_t segment_bytes; /* of each rail in a step, except the first and the last one */
	uint64_t contributed;
	uint64_t reduced;
	uint64_t published;
	/* when the elements to be added up have been read; 0: no read is under way */
	int64_t adding_ns;
	struct ina_request *requests[INA_LOCAL_DEPTH]; /* of the rail, by step */
	uint32_t ways;                                 /* how these were carried out */
	bool overflow;
};

struct ina_parallel {
	struct ina_layout layout;
	struct ina_local local;
	struct ina_intra intra;
	struct ina_pipeline pipeline;
	struct ina_taking *taking; /* by rail */
	/* Parts of the communicator of all ranks. */
	const struct ina_strands *strands; /* its rail; empty if this rank owns none */
	struct ina_control *control;
	const struct ina_turn *turn;
	const struct ina_failure *failure;
	bool noticed; /* the last wait ended by something other than work, or by its timeout */
	int differs;  /* a local rank that is in a different call; -1: none */
};

/* The state of this rank that the others of its machine see. */
static inline struct ina_local_rank *ina_parallel_own(const struct ina_parallel *parallel)
{
	return &parallel->local.ranks[parallel->local.index];
}

/* This rank's rail; NULL if it owns none. */
static inline struct ina_comm *ina_parallel_rail(const struct ina_parallel *parallel)
{
	return parallel->strands->count > 0 ? parallel->strands->comms[0] : NULL;
}

/*
 * Prepares the communicator's next all-reduce; none may be under way. Does none of its steps yet.
 */
void ina_pipeline_start(struct ina_parallel *parallel, const struct ina_transfer *transfer);

/*
 * Makes all progress that is possible without waiting, or a part of it. *moved: there was progress,
 * and another call may make more. A failure is the rail's.
 */
enum ina_status ina_pipeline_run(struct ina_parallel *parallel, bool *moved,
                                 struct ina_failure *failure);

/* Does this rank have all sums? */
bool ina_pipeline_is_done(const struct ina_parallel *parallel);

/*
 * INA_LOCAL_SLEEPS, and the actions that this rank could take if others of its machine made
 * progress.
 */
uint32_t ina_pipeline_wants(const struct ina_parallel *parallel);

#endif
