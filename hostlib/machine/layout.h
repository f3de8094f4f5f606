/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout: which ranks are on which machine, and the rails between the machines.
 *
 * A rail is a ring of one rank of each machine: those with the same local index. There are as many
 * rails as the smallest machine has ranks, so each rail reaches every machine. A rank with a higher
 * local index contributes and gets the result, and owns no part of the sum.
 */
#ifndef INA_MACHINE_LAYOUT_H
#define INA_MACHINE_LAYOUT_H

#include "hostlib/options/error.h"

struct ina_location {
	int machine;
	int local;
};

struct ina_layout {
	int ranks;
	int machines;               /* machines are numbered in the order of their lowest ranks */
	int machine;                /* this rank's */
	int local;                  /* this rank's local index, in the order of ranks */
	int locals;                 /* number of ranks of this machine */
	int fewest;                 /* number of ranks of the smallest machine */
	int most;                   /* number of ranks of the largest machine */
	int rails;                  /* 0: flat */
	struct ina_location *where; /* by rank; the caller's memory */
};

/*
 * Computes the layout. hosts[r]: the identity of rank r's machine; fills in where[r]. If every
 * machine has one rank, the schedule is flat, whatever was requested. A pure function.
 */
void ina_layout_make(struct ina_layout *layout, struct ina_location *where, const uint64_t *hosts,
                     int ranks, int rank, enum ina_schedule schedule);

/* The rank with this local index on this machine, or -1. */
int ina_layout_rank(const struct ina_layout *layout, int machine, int local);

/*
 * Computes the identity of this machine. Processes with the same identity can share memory, and can
 * find each other through an abstract socket. Returns INA_OK or INA_ERR_SYSTEM.
 */
enum ina_status ina_layout_identity(uint64_t *identity, struct ina_failure *failure);

#endif
