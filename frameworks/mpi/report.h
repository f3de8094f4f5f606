/* SPDX-License-Identifier: Apache-2.0 */
/* INA_MPI_VERBOSE=1: which call went which way how often, and why. */
#ifndef INA_MPI_REPORT_H
#define INA_MPI_REPORT_H

#include "call.h"
#include "decide.h"

/* A call that is done, or is going to MPI (comm: NULL). Any thread. */
void ina_mpi_report(const struct ina_mpi_call *call, const struct ina_mpi_plan *plan,
                    const ina_comm *comm);

/* Prints the table of this rank to stderr, in one piece. */
void ina_mpi_report_print(void);

#endif
