/* SPDX-License-Identifier: Apache-2.0 */
/* INA_MPI_VERBOSE=1: which call went which way how often, and why. */
#ifndef INA_MPI_REPORT_H
#define INA_MPI_REPORT_H

#include "call.h"

enum ina_mpi_way {
	INA_MPI_BY_AGGREGATOR,
	INA_MPI_BY_HOSTS, /* of libina: by ring, or by recursive doubling */
	INA_MPI_BY_MPI,
	INA_MPI_WAYS
};

/* A call that is done, or is going to MPI. Any thread. */
void ina_mpi_report(const struct ina_mpi_call *call, const struct ina_mpi_plan *plan,
                    enum ina_mpi_way way);

/* Prints the table of this rank to stderr, in one piece. */
void ina_mpi_report_print(void);

#endif
