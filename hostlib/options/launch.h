/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program that started this process says about ranks: torchrun, Open MPI's mpirun, MPICH's
 * and those of its kin, srun. They are asked only for what neither the options nor INA_* say.
 */
#ifndef INA_OPTIONS_LAUNCH_H
#define INA_OPTIONS_LAUNCH_H

#include <stddef.h>

#include "error.h"

struct ina_launch {
	const char *launcher;   /* "Open MPI"; NULL: none */
	const char *rank_name;  /* the variables that said so */
	const char *ranks_name; /* NULL: ranks is not known */
	int rank;
	int ranks;
	char job[200]; /* what it calls the job, the same for all its ranks; "": it does not say */
};

/*
 * Reads rank and rank count. Where several launchers speak, the innermost one is believed if it is
 * known to run inside the other; otherwise they must agree, and the first that does says which job
 * it is. INA_OK, also where there is none, or
 * INA_ERR_ARGUMENT.
 */
enum ina_status ina_launch_ranks(struct ina_launch *launch, struct ina_failure *failure);

/*
 * Where no launcher says both: " (RANK is set, but not WORLD_SIZE)", of the first that says half,
 * or "". For the text of an error.
 */
void ina_launch_half(char *text, size_t size);

/* Where rank 0 is, as ina_address_parse() reads it. */
struct ina_launch_root {
	char text[300];   /* "": no launcher says it */
	const char *name; /* of the variable */
};

/*
 * Reads where rank 0 is: MASTER_ADDR with the port MASTER_PORT + 1 (the port itself is torchrun's
 * own); else, under Open MPI, the host of mpirun; else, under Slurm, the first node of the step, or
 * where its name means nothing SLURM_LAUNCH_NODE_IPADDR; else, under MPICH with all ranks on one
 * host, this host. Names are looked up until the deadline. INA_OK, or INA_ERR_ARGUMENT.
 */
enum ina_status ina_launch_find_root(struct ina_launch_root *root, int64_t deadline_ms,
                                     struct ina_failure *failure);

#endif
