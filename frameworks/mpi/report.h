/* SPDX-License-Identifier: Apache-2.0 */
/* INA_MPI_VERBOSE: reports how often each call used libina or MPI, and why. */
#ifndef INA_MPI_REPORT_H
#define INA_MPI_REPORT_H

#include "call.h"

/*
 * Counts a call that libina has finished, or that is passed to MPI. INA_MPI_BY_INA means that the
 * aggregator summed. May be called from any thread.
 */
void ina_mpi_report(const struct ina_mpi_call *call, size_t bytes, enum ina_mpi_why why);

/* Prints this rank's table in one piece, to its file or to stderr. */
void ina_mpi_report_print(void);

#endif
