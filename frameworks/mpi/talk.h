/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the interposers of a channel's ranks say to each other: on an MPI communicator of their own,
 * which no call of the program can match, in a thread.
 *
 * Opening: each rank tells rank 0 that it is here; when all are, rank 0 has them open; each tells
 * rank 0 what came of it; and rank 0 decides for all: by libina, or, where one has failed, left to
 * MPI.
 *
 * Waiting: a rank that waits in libina for longer than INA_MPI_PATIENCE_MS tells its successor in
 * which call it does. Where the successor has called as many collectives but fewer of them by
 * libina, it went to MPI with one, and the calls differ: it tells all, and all fail. Going round
 * the ranks, one that waits in libina must come before one that went to MPI, so asking the
 * successor is enough.
 */
#ifndef INA_MPI_TALK_H
#define INA_MPI_TALK_H

#include <stdbool.h>

#define INA_MPI_PATIENCE_MS 2000

/* Returns whether the thread could be started. */
bool ina_mpi_talk_begin(void);

/* Does nothing where it was not. */
void ina_mpi_talk_end(void);

/* A channel is to be opened: look at it soon. */
void ina_mpi_talk_hurry(void);

#endif
