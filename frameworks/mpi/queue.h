/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a channel that are under way, in order. A thread that waits in a call takes all
 * of them further, and the channel's thread does if nobody waits.
 */
#ifndef INA_MPI_QUEUE_H
#define INA_MPI_QUEUE_H

#include <mpi.h>
#include <stdbool.h>

#include "channel.h"
#include "op.h"

/* With the channel's lock. */
void ina_mpi_queue_put(struct ina_mpi_channel *channel, struct ina_mpi_op *op);

/* With the channel's lock. Takes all as far as it goes without waiting. */
void ina_mpi_queue_advance(struct ina_mpi_channel *channel);

/* With the channel's lock. All that is under way fails, and all later calls do. */
void ina_mpi_queue_lead_astray(struct ina_mpi_channel *channel, const char *text);

/*
 * Started calls if libina could not be opened. Ranks learn of that between different calls, so all
 * of these go to a separate communicator, so that they stay in order among themselves. Returns
 * false if libina could be, or if operations are to be handed to MPI before it.
 */
bool ina_mpi_queue_start_by_mpi(struct ina_mpi_channel *channel, const struct ina_mpi_call *call,
                                MPI_Request *request, int *code);

/* With the channel's lock. The program's error handler is for that communicator too. */
void ina_mpi_queue_inherit_errhandler(struct ina_mpi_channel *channel);

#endif
