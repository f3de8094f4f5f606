/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of one machine: memory that they share, wake-ups, and who is still there.
 *
 * The memory is a memfd that the lowest rank makes and hands to the others over an abstract socket,
 * so no name is left behind however a process ends. It holds, for each step of the last
 * INA_LOCAL_DEPTH, every rank's contribution to each rail, the machine's sum on each rail, and the
 * sum of all machines. How far each rank is, is a count of steps since the communicator was opened:
 * only its own rank writes it, and it only grows.
 */
#ifndef INA_MACHINE_LOCAL_H
#define INA_MACHINE_LOCAL_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "hostlib/control/control.h"
#include "topology.h"

#define INA_LOCAL_DEPTH 4u

/* What a rank that sleeps would do if it could; 0: it is awake. */
enum ina_local_want {
	INA_LOCAL_SLEEPS = 1,
	INA_LOCAL_CONTRIBUTE = 2,
	INA_LOCAL_REDUCE = 4,
};

/* What all ranks of a machine know of one of them. */
struct ina_local_rank {
	alignas(128) _Atomic uint64_t contributed; /* steps whose contributions are there */
	_Atomic uint64_t reduced;                  /* owners: steps that they have added up */
	_Atomic uint64_t published; /* owners: steps whose sums of all machines are there */
	_Atomic uint64_t taken;     /* steps whose sums this rank has copied */
	_Atomic uint32_t wants;     /* of enum ina_local_want */
	_Atomic uint64_t overflow;  /* owners: the latest call in which an addition overflowed */
	_Atomic uint32_t way; /* the first one: which way the latest call went (engine/count.h) */
	struct ina_call call; /* valid when its first step has been contributed */
};

struct ina_local {
	int index;
	int count;
	int rails;
	size_t segment_bytes; /* of a rail, in a step */
	struct ina_local_rank *ranks;
	uint8_t *data;
	size_t map_bytes;
	/* By local index; the caller's memory. */
	int *wake;  /* an eventfd of each rank */
	int *alive; /* a pipe that ends with the rank; -1: has ended, or this rank's */
	bool *gone;
	int life; /* the other end of this rank's */
};

/* With wake, alive, gone and count filled in: ina_local_close() is safe then whatever comes. */
void ina_local_init(struct ina_local *local);

/*
 * All ranks of this machine call it. Gives up when any rank has failed. Errors: INA_ERR_SYSTEM,
 * INA_ERR_MEMORY, INA_ERR_PEER, INA_ERR_TIMEOUT.
 */
enum ina_status ina_local_open(struct ina_local *local, const struct ina_topology *topology,
                               uint64_t job_id, size_t segment_bytes, struct ina_control *control,
                               int64_t deadline_ms, struct ina_failure *failure);
void ina_local_close(struct ina_local *local);

/* Wakes the others that sleep and can go on. All sleep for what is to be taken. */
void ina_local_wake(struct ina_local *local);

/* Steps that all ranks have contributed to, or taken; that all owners have added up, or published.
 */
uint64_t ina_local_all_contributed(const struct ina_local *local);
uint64_t ina_local_all_taken(const struct ina_local *local);
uint64_t ina_local_all_reduced(const struct ina_local *local);
uint64_t ina_local_all_published(const struct ina_local *local);

/* Is a place free for a step, when all for whom it was meant are done with so many steps? */
static inline bool ina_local_is_free(uint64_t done, uint64_t step)
{
	return done + INA_LOCAL_DEPTH > step;
}

/* This rank is awake. woken: somebody may have woken it, which is taken note of. */
void ina_local_awake(struct ina_local *local, bool woken);

/* Looks without waiting at who is still there. Returns a local index that is gone, or -1. */
int ina_local_look(struct ina_local *local);

/* Fills fds (room for INA_MAX_RANKS) with what to wait for; returns how many. */
int ina_local_pollfds(const struct ina_local *local, struct pollfd *fds);

/* Memory of step `step`, segment_bytes each. */
uint8_t *ina_local_contribution(const struct ina_local *local, int index, int rail, uint64_t step);
uint8_t *ina_local_reduced(const struct ina_local *local, int rail, uint64_t step);
uint8_t *ina_local_sum(const struct ina_local *local, int rail, uint64_t step);

/* All that the rail's two hold, in one piece: *bytes of it. */
uint8_t *ina_local_rail_memory(const struct ina_local *local, int rail, size_t *bytes);

#endif
