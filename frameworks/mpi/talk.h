/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the interposers of a channel's ranks, sent and received by a thread: on a
 * separate MPI communicator, which no call of the program can match.
 *
 * Opening: each rank tells rank 0 that it is here; when all are, rank 0 has them open; each tells
 * rank 0 what came of it; and rank 0 decides for all: by libina, or, if one has failed, left to
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

#include <pthread.h>
#include <stdbool.h>

#include "channel.h"

#define INA_MPI_PATIENCE_MS 2000

/* All channels: the thread looks at each of them. */
struct ina_mpi_channels {
	pthread_mutex_t lock; /* taken before that of a channel */
	struct ina_mpi_channel *first;
};
extern struct ina_mpi_channels ina_mpi_channels;

/* With the channel's lock. Does this rank know the channel's cookie yet? */
bool ina_mpi_talk_knows(struct ina_mpi_channel *channel);

/* Returns whether the thread could be started. */
bool ina_mpi_talk_begin(void);

/* Does nothing if the thread was not started. */
void ina_mpi_talk_end(void);

/* A channel is to be opened: look at it soon. */
void ina_mpi_talk_hurry(void);

#endif
