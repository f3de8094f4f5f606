/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of one machine: their shared memory, wakeups, and which of them are alive.
 *
 * The memory is a memfd that the lowest rank creates and passes to the others over an abstract
 * socket, so no name remains however a process ends. It holds, for each of the last INA_LOCAL_DEPTH
 * steps, every rank's contribution to each rail, the machine's sum on each rail, and the sum of all
 * machines. The progress of each rank is a count of steps since the communicator was opened. Only
 * that rank writes the count, and it only grows.
 */
#ifndef INA_MACHINE_LOCAL_H
#define INA_MACHINE_LOCAL_H

#include <poll.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "hostlib/control/control.h"
#include "layout.h"

#define INA_LOCAL_DEPTH 4u

/* The actions that would let a sleeping rank make progress; 0: it is awake. */
enum ina_local_want {
	INA_LOCAL_SLEEPS = 1,
	INA_LOCAL_CONTRIBUTE = 2,
	INA_LOCAL_REDUCE = 4,
};

/* The shared state of one rank. */
struct ina_local_rank {
	alignas(128) _Atomic uint64_t contributed; /* steps to which it has contributed */
	_Atomic uint64_t reduced;                  /* rail owners: steps that it has added up */
	/* rail owners: steps for which it has published the sum of all machines */
	_Atomic uint64_t published;
	_Atomic uint64_t taken; /* steps whose sums it has copied */
	_Atomic uint32_t wants; /* of enum ina_local_want */
	/* rail owners: number of the latest call in which an addition overflowed */
	_Atomic uint64_t overflow;
	/* local rank 0: how the latest call was carried out (engine/count.h) */
	_Atomic uint32_t way;
	struct ina_call call; /* valid after the call's first step has been contributed */
};

struct ina_local {
	int index;
	int count;
	int rails;
	size_t segment_bytes; /* of a rail in a step */
	struct ina_local_rank *ranks;
	uint8_t *data;
	size_t map_bytes;
	/* Arrays by local index, in the caller's memory. */
	int *wake;  /* an eventfd of each rank */
	int *alive; /* a pipe that ends with the rank; -1: the rank has ended, or is this one */
	bool *gone;
	int life; /* the write end of this rank's pipe */
};

/*
 * Initialises the struct, in which wake, alive, gone and count must be set. After that
 * ina_local_close() is always safe.
 */
void ina_local_init(struct ina_local *local);

/*
 * Opens the shared memory. All ranks of this machine call it. Ends early if any rank has failed.
 * Errors: INA_ERR_SYSTEM, INA_ERR_MEMORY, INA_ERR_PEER, INA_ERR_TIMEOUT.
 */
enum ina_status ina_local_open(struct ina_local *local, const struct ina_layout *layout,
                               uint64_t job_id, size_t segment_bytes, struct ina_control *control,
                               int64_t deadline_ms, struct ina_failure *failure);
void ina_local_close(struct ina_local *local);

/*
 * Wakes the other ranks that sleep and can make progress. All sleeping ranks wait for sums that
 * they can take.
 */
void ina_local_wake(struct ina_local *local);

/*
 * The number of steps to which all ranks have contributed; which all ranks have taken; which all
 * owners have added up; which all owners have published.
 */
uint64_t ina_local_all_contributed(const struct ina_local *local);
uint64_t ina_local_all_taken(const struct ina_local *local);
uint64_t ina_local_all_reduced(const struct ina_local *local);
uint64_t ina_local_all_published(const struct ina_local *local);

/*
 * Is the place of a step free? done: the number of steps with which all ranks that use the place
 * are done.
 */
static inline bool ina_local_is_free(uint64_t done, uint64_t step)
{
	return done + INA_LOCAL_DEPTH > step;
}

/* Marks this rank as awake. woken: it may have been woken, so clear the eventfd. */
void ina_local_awake(struct ina_local *local, bool woken);

/*
 * Checks without waiting which ranks are alive. Returns the local index of one that has ended, or
 * -1.
 */
int ina_local_look(struct ina_local *local);

/* Fills in the descriptors to poll; fds has room for INA_MAX_RANKS. Returns their number. */
int ina_local_pollfds(const struct ina_local *local, struct pollfd *fds);

/* The memory of step `step`, segment_bytes each. */
uint8_t *ina_local_contribution(const struct ina_local *local, int index, int rail, uint64_t step);
uint8_t *ina_local_reduced(const struct ina_local *local, int rail, uint64_t step);
uint8_t *ina_local_sum(const struct ina_local *local, int rail, uint64_t step);

/* The memory of a rail's sums, in one piece; sets *bytes to its size. */
uint8_t *ina_local_rail_memory(const struct ina_local *local, int rail, size_t *bytes);

#endif
