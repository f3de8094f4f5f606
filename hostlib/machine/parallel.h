/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce for machines with several ranks each: inside a machine through shared memory, between
 * machines by one communicator for each rail (topology.h), with its own connections and its own job
 * at the aggregator. With one rail this is the leader-only algorithm: rank 0 of each machine speaks
 * for it.
 */
#ifndef INA_MACHINE_PARALLEL_H
#define INA_MACHINE_PARALLEL_H

#include "hostlib/engine/comm.h"
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
	uint64_t rail_overflows;                       /* before it */
	bool overflow;
};

struct ina_parallel {
	struct ina_topology topology;
	struct ina_local local;
	struct ina_intra intra;
	struct ina_comm *rail; /* NULL: this rank owns none */
	struct ina_pipeline pipeline;
	struct ina_taking *taking; /* by rail */
	/* Of the communicator of all ranks. */
	struct ina_control *control;
	const struct ina_turn *turn;
	const struct ina_failure *failure;
	bool noticed; /* the latest wait ended by something other than work, or by its time */
	int differs;  /* a local rank that is in another call; -1: none */
};

/* For so many ranks, of so many machines, and nothing open yet; NULL: no memory. To be freed. */
struct ina_parallel *ina_parallel_new(const struct ina_topology *topology);

/* Its functions take a struct ina_parallel. */
extern const struct ina_algorithm_row ina_parallel_algorithm;

/*
 * Between all-reduces: waits up to timeout_ms for anything, and takes part in what others of the
 * rail need of this rank.
 */
void ina_parallel_attend(struct ina_parallel *parallel, int timeout_ms);

#endif
