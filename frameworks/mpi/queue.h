/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a counterpart that are in progress, in order. A thread that waits in a call
 * advances all of them; if no thread waits, the counterpart's thread does.
 */
#ifndef INA_MPI_QUEUE_H
#define INA_MPI_QUEUE_H

#include <mpi.h>
#include <stdbool.h>

#include "counterpart.h"
#include "op.h"

/* Appends an operation. Called with the counterpart's lock held. */
void ina_mpi_queue_put(struct ina_mpi_counterpart *counterpart, struct ina_mpi_op *op);

/* Advances all operations as far as possible without waiting. Called with the lock held. */
void ina_mpi_queue_advance(struct ina_mpi_counterpart *counterpart);

/* Makes all operations in progress and all later calls fail. Called with the lock held. */
void ina_mpi_queue_lead_astray(struct ina_mpi_counterpart *counterpart, const char *text);

/*
 * Starts a nonblocking call in MPI if libina could not be opened. Ranks learn about that between
 * different calls, so all these calls use a separate communicator, in which they stay in order.
 * Returns false if libina was opened, or if earlier operations have not been passed to MPI yet.
 */
bool ina_mpi_queue_start_by_mpi(struct ina_mpi_counterpart *counterpart,
                                const struct ina_mpi_call *call, MPI_Request *request, int *code);

/*
 * Copies the program's error handler to that communicator. Called with the counterpart's lock held.
 */
void ina_mpi_queue_inherit_errhandler(struct ina_mpi_counterpart *counterpart);

#endif
