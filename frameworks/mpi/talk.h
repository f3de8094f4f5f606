/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the interposers of a counterpart's ranks. A thread sends and receives them, on a
 * separate MPI communicator, which no call of the program can match.
 *
 * Opening: each rank tells rank 0 that it has a call for libina. When all ranks have done so, rank
 * 0 tells them to open. Each rank tells rank 0 the result, and rank 0 decides for all: they use
 * libina, or, if one has failed, they leave the calls to MPI.
 *
 * Waiting: a rank that waits in libina for longer than INA_MPI_PATIENCE_MS tells its successor in
 * which call it waits. If the successor has made as many collective calls, but fewer of them with
 * libina, it used MPI for one of them, so the calls differ. It then tells all ranks, and all calls
 * fail. In the order of the ranks, one that waits in libina must precede one that used MPI, so it
 * is enough to ask the successor.
 */
#ifndef INA_MPI_TALK_H
#define INA_MPI_TALK_H

#include <pthread.h>
#include <stdbool.h>

#include "counterpart.h"

#define INA_MPI_PATIENCE_MS 2000

/* The list of all counterparts; the thread looks at each of them. */
struct ina_mpi_counterparts {
	pthread_mutex_t lock; /* taken before the lock of a counterpart */
	struct ina_mpi_counterpart *first;
};
extern struct ina_mpi_counterparts ina_mpi_counterparts;

/*
 * True if this rank has received the counterpart's cookie. Called with the counterpart's lock held.
 */
bool ina_mpi_talk_knows(struct ina_mpi_counterpart *counterpart);

/* Returns whether the thread could be started. */
bool ina_mpi_talk_begin(void);

/* Does nothing if the thread was not started. */
void ina_mpi_talk_end(void);

/* Makes the thread look at the counterparts now, because one is to be opened. */
void ina_mpi_talk_hurry(void);

#endif
