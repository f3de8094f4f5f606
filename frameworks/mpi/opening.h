/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel's thread: opens it, or leaves it to MPI; finishes what is started; closes it. Where a
 * rank waits for all others, it is this thread that does, so that MPI gets on in the meantime.
 */
#ifndef INA_MPI_OPENING_H
#define INA_MPI_OPENING_H

#include "channel.h"

/* Returns an error number, or 0. */
int ina_mpi_opening_start(struct ina_mpi_channel *channel);

#endif
