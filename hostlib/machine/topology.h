/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is where: the ranks, by machine, and the rails between the machines.
 *
 * A rail is a ring of one rank from each machine, those with the same local index. There are as
 * many as the smallest machine has ranks, so that each of them reaches every machine; a rank whose
 * local index is beyond that contributes and gets the result, and owns no part of the sum.
 */
#ifndef INA_MACHINE_TOPOLOGY_H
#define INA_MACHINE_TOPOLOGY_H

#include "hostlib/options/error.h"

struct ina_location {
	int machine;
	int local;
};

struct ina_topology {
	int ranks;
	int machines; /* numbered by their lowest ranks */
	int machine;  /* this rank's */
	int local;    /* this rank's index among those of its machine, in the order of ranks */
	int locals;   /* ranks of this machine */
	int fewest;   /* ranks of the smallest machine */
	int most;     /* of the largest */
	int rails;    /* 0: flat */
	struct ina_location *where; /* by rank; the caller's */
};

/*
 * hosts[r]: the identity of rank r's machine; where[r]: filled in. With one rank a machine the
 * schedule is flat, whatever was asked for. Pure.
 */
void ina_topology_make(struct ina_topology *topology, struct ina_location *where,
                       const uint64_t *hosts, int ranks, int rank, enum ina_schedule schedule);

/* The rank with that local index on that machine, or -1. */
int ina_topology_rank(const struct ina_topology *topology, int machine, int local);

/*
 * The identity of this machine: processes with the same one can share memory, and find each other
 * by an abstract socket. INA_OK or INA_ERR_SYSTEM.
 */
enum ina_status ina_topology_identity(uint64_t *identity, struct ina_failure *failure);

#endif
