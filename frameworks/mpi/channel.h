/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel: an MPI communicator's communicator of libina, in an attribute of it. It is made by the
 * first collective, and opened by the first one that libina is to do. talk.h has the
 * messages between its ranks.
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

/* How far it is opened: each step is taken by all ranks before one of them takes the next. */
enum ina_mpi_phase {
	INA_MPI_UNBEGUN,
	INA_MPI_BEGUN,   /* this rank has a call for libina */
	INA_MPI_HERE,    /* rank 0 knows it */
	INA_MPI_OPENING, /* all ranks are here: the thread is in ina_open() */
	INA_MPI_TRIED,   /* and has come back */
	INA_MPI_TOLD,    /* rank 0 knows what came of it */
	INA_MPI_DECIDED, /* by libina, or left to MPI, on all ranks */
};

struct ina_mpi_channel {
	struct ina_mpi_channel *next; /* in the list of all */
	enum ina_mpi_why why;         /* INA_MPI_BY_INA, or why its calls go to MPI */
	MPI_Comm mpi;
	int rank;
	int ranks;
	int *world_ranks;
	uint32_t root;            /* the address of rank 0 */
	uint64_t cookie;          /* tells it from others, chosen at random by rank 0 */
	MPI_Request cookie_comes; /* under the lock, as all that follows */

	pthread_t thread; /* opens, finishes what is started, closes */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	enum ina_mpi_phase phase;
	struct ina_mpi_place place; /* of the latest call */
	bool is_opened;             /* after INA_MPI_DECIDED: calls can go their way */
	bool is_left;               /* libina could not be opened: calls are MPI's */
	MPI_Comm started_comm;      /* for started calls then */
	bool is_astray;             /* some ranks went to MPI with a call, others did not */
	bool is_closing;
	MPI_Request closing; /* until all ranks are */
	bool is_ended;
	ina_comm *comm;            /* NULL: not yet, or not any more */
	int fd;                    /* ina_comm_fd() */
	enum ina_status status;    /* of ina_open() */
	char text[INA_ERROR_SIZE]; /* of the latest error */
	struct ina_mpi_op *first;  /* under way, in order */
	struct ina_mpi_op *last;
	uint64_t reported[INA_MPI_WITHOUT]; /* of libina's counts of calls, what is in the table */
	unsigned int started; /* of those under way, for which nobody waits in a call */

	/* The talk's thread alone uses what follows. */
	int here; /* rank 0: how many ranks have said so */
	int told; /* the same */
	enum ina_status worst;
	char reason[INA_ERROR_SIZE];
	uint64_t awaited; /* the place, by libina, of the call that is the first under way */
	int64_t since_ms;
	struct ina_mpi_place astray; /* of the call that some went to MPI with, or one before it */
	bool is_stray;               /* this rank is one of these */
	unsigned int seen_inside;    /* ina_mpi_world.entered */
	int64_t inside_since_ms;
};

#endif
