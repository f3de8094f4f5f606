/* SPDX-License-Identifier: Apache-2.0 */
/* INA_MPI_VERBOSE: which call went which way how often, and why. */
#ifndef INA_MPI_REPORT_H
#define INA_MPI_REPORT_H

#include "call.h"

/* A call that libina has done, or that is going to MPI. INA_MPI_BY_INA: by the aggregator. Any
 * thread. */
void ina_mpi_report(const struct ina_mpi_call *call, size_t bytes, enum ina_mpi_why why);

/* Prints the table of this rank to stderr, in one piece. */
void ina_mpi_report_print(void);

#endif
