/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counterpart's thread. It opens the counterpart or leaves it to MPI, finishes nonblocking calls,
 * and closes the counterpart. All waiting for all other ranks happens in this thread, so that MPI
 * can progress in the meantime.
 */
#ifndef INA_MPI_OPENING_H
#define INA_MPI_OPENING_H

#include "counterpart.h"

/* Starts the thread. Returns 0, or an error number. */
int ina_mpi_opening_start(struct ina_mpi_counterpart *counterpart);

#endif
