/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce for machines with several ranks each: inside a machine through shared memory, between
 * machines by one flat communicator for each rail (topology.h), with its own connections and its
 * own job at the aggregator.
 *
 * The communicator of all ranks keeps only its control channel: it agrees at open and close, and
 * settles every fault, so that all ranks get the same error. With one rail this is the leader-only
 * algorithm: rank 0 of each machine speaks for it.
 */
#ifndef INA_MACHINE_PARALLEL_H
#define INA_MACHINE_PARALLEL_H

#include "hostlib/engine/comm.h"
#include "intra.h"
#include "local.h"
#include "hostlib/bootstrap/bootstrap.h"

/* One all-reduce, as far as this rank has come with it: in steps of a segment on each rail. */
struct ina_pipeline {
	uint64_t base;  /* steps of the communicator before it */
	uint64_t steps; /* of it */
	size_t total_bytes;
	size_t part_bytes;    /* of each rail; the last ones may have less */
	size_t segment_bytes; /* of each rail in a step, but the first and the last */
	uint64_t contributed;
	uint64_t reduced;
	uint64_t published;
	uint64_t taken[INA_MAX_RANKS]; /* by rail */
	/* When what is being read is there (ina_intra_read()); 0: nothing is being read. */
	int64_t adding_ns;
	int64_t taking_ns[INA_MAX_RANKS];
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
	bool noticed; /* the latest wait ended by something other than work, or by its time */
	int differs;  /* a local rank that is in another call; -1: none */
	int epoll_fd; /* -1: nobody has asked for one */
	int timer_fd;
};

/*
 * From the agreement of the bootstrap on: rails, shared memory, and an agreement that all have
 * both. listener: where the rank that leads this rail waits for the others of it; it is closed.
 */
enum ina_status ina_parallel_open(struct ina_comm *comm, const struct ina_topology *topology,
                                  const struct ina_roster *roster, int listener,
                                  struct ina_failure *failure);

/* Waits for all ranks to close, unless the communicator has failed; frees all. */
enum ina_status ina_parallel_close(struct ina_comm *comm, struct ina_failure *failure);

/* As ina_collective_step(), and as ina_comm_fd(). */
void ina_parallel_step(struct ina_comm *comm, int timeout_ms);
enum ina_status ina_parallel_fd(struct ina_comm *comm, int *fd);

/* A fault of this rank, or (NULL) elsewhere: is settled in the steps that follow. */
void ina_parallel_mend(struct ina_comm *comm, int timeout_ms);

/* Sees to the rail while no all-reduce of it is under way: others may need this rank's help. */
void ina_parallel_attend(struct ina_comm *rail);

/* What to wait for; returns how many of at most INA_PARALLEL_FDS. */
#define INA_PARALLEL_FDS (3 * INA_MAX_RANKS + 5)
int ina_parallel_pollfds(const struct ina_comm *comm, struct pollfd *fds);

/* Begins the first request, and takes it as far as it goes without waiting. */
void ina_pipeline_start(struct ina_comm *comm);
bool ina_pipeline_done(const struct ina_comm *comm);

/* What this rank would do if others of its machine let it: enum ina_local_want. */
uint32_t ina_pipeline_wants(const struct ina_comm *comm);

/* *moved: whether anything has. Errors are this rank's fault, to be settled among all ranks. */
enum ina_status ina_pipeline_advance(struct ina_comm *comm, bool *moved,
                                     struct ina_failure *failure);

#endif
