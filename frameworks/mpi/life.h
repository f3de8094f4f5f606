/* SPDX-License-Identifier: Apache-2.0 */
/* A channel's life: made, used, closed. */
#ifndef INA_MPI_LIFE_H
#define INA_MPI_LIFE_H

#include "channel.h"

/* Never NULL. Makes it where the communicator has none. */
struct ina_mpi_channel *ina_mpi_channel_of(MPI_Comm comm);

/*
 * Counts a call, whose plan is complete except for the channel's part, and says which way it goes.
 * On a channel that is astray that is INA_MPI_BY_INA for all, so that they fail.
 */
enum ina_mpi_why ina_mpi_channel_enter(struct ina_mpi_channel *channel,
                                       const struct ina_mpi_call *call, struct ina_mpi_plan *plan);

/*
 * Does the operation; it must be in memory that stays until it is done. A started one is handed out
 * as *request, is finished by the thread, and belongs to it; else returns when it is done.
 * Returns false where libina could not be opened, and a blocking call is for MPI to do.
 */
bool ina_mpi_channel_do(struct ina_mpi_channel *channel, struct ina_mpi_op *op);

/* Finishes what is under way, and closes it. Collective. The communicator may have none. */
void ina_mpi_channel_close(MPI_Comm comm);
void ina_mpi_channel_close_all(void);

#endif
