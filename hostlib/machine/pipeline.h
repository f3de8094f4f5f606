/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of one all-reduce of machines with several ranks, through shared memory and a rail. */
#ifndef INA_MACHINE_PIPELINE_H
#define INA_MACHINE_PIPELINE_H

#include "hostlib/channels/strands.h"
#include "intra.h"
#include "local.h"

/* Sums of a rail, as far as this rank has copied them. */
struct ina_taking {
	uint64_t steps;
	int64_t ready_ns; /* when what is being read is there (ina_intra_read()); 0: nothing is */
};

/* One all-reduce, as far as this rank has come with it: in steps of a segment on each rail. */
struct ina_pipeline {
	struct ina_transfer transfer;
	uint64_t base;        /* steps of the communicator before it */
	uint64_t steps;       /* of it */
	size_t part_bytes;    /* of each rail; the last ones may have less */
	size_t segment_bytes; /* of each rail in a step, but the first and the last */
	uint64_t contributed;
	uint64_t reduced;
	uint64_t published;
	int64_t adding_ns; /* when what is being read to be added up is there; 0: nothing is */
	struct ina_request *requests[INA_LOCAL_DEPTH]; /* of the rail, by step */
	uint32_t ways;                                 /* that these went */
	bool overflow;
};

struct ina_parallel {
	struct ina_topology topology;
	struct ina_local local;
	struct ina_intra intra;
	struct ina_pipeline pipeline;
	struct ina_taking *taking; /* by rail */
	/* Of the communicator of all ranks. */
	const struct ina_strands *strands; /* its rail; none: this rank owns none */
	struct ina_control *control;
	const struct ina_turn *turn;
	const struct ina_failure *failure;
	bool noticed; /* the latest wait ended by something other than work, or by its time */
	int differs;  /* a local rank that is in another call; -1: none */
};

/* What the others of its machine see of this rank. */
static inline struct ina_local_rank *ina_parallel_own(const struct ina_parallel *parallel)
{
	return &parallel->local.ranks[parallel->local.index];
}

/* NULL: this rank owns none. */
static inline struct ina_comm *ina_parallel_rail(const struct ina_parallel *parallel)
{
	return parallel->strands->count > 0 ? parallel->strands->comms[0] : NULL;
}

/* The communicator's next all-reduce: none is under way. Nothing is done yet. */
void ina_pipeline_start(struct ina_parallel *parallel, const struct ina_transfer *transfer);

/*
 * As far as it goes without a wait, or a part of that. *moved: did it go on? Then a call may do
 * more. The failure is the rail's.
 */
enum ina_status ina_pipeline_run(struct ina_parallel *parallel, bool *moved,
                                 struct ina_failure *failure);

/* Has this rank all sums? */
bool ina_pipeline_is_done(const struct ina_parallel *parallel);

/* INA_LOCAL_SLEEPS, and what this rank would do if others of its machine let it. */
uint32_t ina_pipeline_wants(const struct ina_parallel *parallel);

#endif
