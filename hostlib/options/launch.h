/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads rank, rank count and root from the variables of the launcher that started this process:
 * torchrun, Open MPI's mpirun, MPICH and its derivatives, srun or PMIx. They count only if neither
 * the options nor INA_* give a value.
 */
#ifndef INA_OPTIONS_LAUNCH_H
#define INA_OPTIONS_LAUNCH_H

#include <stddef.h>

#include "error.h"

struct ina_launch {
	const char *launcher;   /* such as "Open MPI"; NULL: no launcher */
	const char *rank_name;  /* the names of the variables that were read */
	const char *ranks_name; /* NULL: ranks is not known */
	int rank;
	int ranks;
	/* the launcher's name for the job, the same for all its ranks; "": unknown */
	char job[200];
};

/*
 * Reads rank and rank count. If several launchers have set variables, the innermost one counts,
 * provided that libina knows that it runs inside the others. Otherwise they must agree, and the
 * first one that names the job does so. Returns INA_OK, also if there is no launcher, or
 * INA_ERR_ARGUMENT.
 */
enum ina_status ina_launch_ranks(struct ina_launch *launch, struct ina_failure *failure);

/*
 * Writes " (RANK is set, but not WORLD_SIZE)" for the first launcher that has set only one of rank
 * and rank count, or "" if no launcher has. For the text of an error.
 */
void ina_launch_half(char *text, size_t size);

/* The address of rank 0, in the form that ina_address_parse() reads. */
struct ina_launch_root {
	char text[300];   /* "": no launcher gives it */
	const char *name; /* the variable that it was read from */
};

/*
 * Reads the address of rank 0 from the first of these that is available:
 * - MASTER_ADDR, with port MASTER_PORT + 1, because torchrun uses MASTER_PORT itself;
 * - Open MPI: the host of mpirun, by its address, or by its name with Open MPI 5; this host if all
 *   ranks are on it and no address is given;
 * - Slurm: the first node of the step, or SLURM_LAUNCH_NODE_IPADDR if that name does not resolve;
 * - MPICH with all ranks on one host: this host.
 *
 * Waits for the resolver no longer than until the deadline. Returns INA_OK or INA_ERR_ARGUMENT.
 */
enum ina_status ina_launch_find_root(struct ina_launch_root *root, int64_t deadline_ms,
                                     struct ina_failure *failure);

#endif
