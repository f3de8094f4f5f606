/* SPDX-License-Identifier: Apache-2.0 */
/* A counterpart's life: creating, using and closing it. */
#ifndef INA_MPI_LIFE_H
#define INA_MPI_LIFE_H

#include "counterpart.h"

/* Returns the communicator's counterpart, and creates it at the first call. Never NULL. */
struct ina_mpi_counterpart *ina_mpi_counterpart_of(MPI_Comm comm);

/*
 * Counts a call and decides about it. The caller has filled in the plan, except for the
 * counterpart's part. On a counterpart that is astray the result is always INA_MPI_BY_INA, so that
 * the call fails.
 */
enum ina_mpi_why ina_mpi_counterpart_enter(struct ina_mpi_counterpart *counterpart,
                                           const struct ina_mpi_call *call,
                                           struct ina_mpi_plan *plan);

/*
 * Carries out an operation, whose memory must stay valid until it is done. A blocking call returns
 * when it is done; false means that libina could not be opened and the caller must use MPI. A
 * nonblocking one returns true immediately; its caller already has op->handle as its request, and
 * the counterpart's thread finishes it.
 */
bool ina_mpi_counterpart_do(struct ina_mpi_counterpart *counterpart, struct ina_mpi_op *op);

/*
 * Finish all operations in progress and close the counterpart. Collective. The communicator may
 * have no counterpart.
 */
void ina_mpi_counterpart_close(MPI_Comm comm);
void ina_mpi_counterpart_close_all(void);

#endif
