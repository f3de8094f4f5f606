/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel: an MPI communicator's communicator of libina, in an attribute of it. It is made by the
 * first call that could go by libina, and opened by the first one that does.
 */
#ifndef INA_MPI_CHANNEL_H
#define INA_MPI_CHANNEL_H

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "hostlib/include/ina.h"
#include "call.h"

struct ina_mpi_op;

struct ina_mpi_channel {
	struct ina_mpi_channel *next; /* in the list of all */
	enum ina_mpi_why why;         /* INA_MPI_BY_INA, or why its calls go to MPI */
	int rank;
	int ranks;
	uint32_t root;   /* the address of rank 0 */
	uint64_t cookie; /* of the job, drawn by rank 0 */
	MPI_Request cookie_comes;
	bool is_begun; /* the thread runs: by a call, so at the same call on all ranks */

	pthread_t thread;     /* opens, finishes what is started, closes */
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t wake;
	bool is_opened; /* or could not be */
	bool is_closing;
	bool is_ended;
	ina_comm *comm;            /* NULL: not yet, or failed */
	int fd;                    /* ina_comm_fd() */
	enum ina_status failure;   /* of opening */
	char text[INA_ERROR_SIZE]; /* of the latest error */
	struct ina_mpi_op *first;  /* under way, in order */
	struct ina_mpi_op *last;
	uint64_t reported[INA_MPI_WITHOUT]; /* of libina's counts of calls, what is in the table */
	unsigned int started; /* of those under way, for which nobody waits in a call */
};

/* Never NULL. Makes it where the communicator has none. */
struct ina_mpi_channel *ina_mpi_channel_of(MPI_Comm comm);

bool ina_mpi_channel_is_begun(const struct ina_mpi_channel *channel);

/*
 * Does the operation; it must be in memory that stays until it is done. A started one is handed out
 * as *request, is finished by the thread, and belongs to it; else returns when it is done.
 */
void ina_mpi_channel_do(struct ina_mpi_channel *channel, struct ina_mpi_op *op);

/* Finishes what is under way, and closes it. Collective. The communicator may have none. */
void ina_mpi_channel_close(MPI_Comm comm);
void ina_mpi_channel_close_all(void);

#endif
