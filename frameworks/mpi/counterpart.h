/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counterpart holds the libina communicator that belongs to an MPI communicator, and is an
 * attribute of it. The first collective creates the counterpart, and the first one for libina opens
 * it. talk.h describes the messages between its ranks.
 */
#ifndef INA_MPI_COUNTERPART_H
#define INA_MPI_COUNTERPART_H

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "hostlib/include/ina.h"
#include "call.h"

struct ina_mpi_op;

/* The steps of opening. All ranks complete a step before any rank begins the next one. */
enum ina_mpi_phase {
	INA_MPI_UNBEGUN,
	INA_MPI_BEGUN,   /* this rank has a call for libina */
	INA_MPI_HERE,    /* this rank has told rank 0 so */
	INA_MPI_OPENING, /* all ranks have done so; the thread calls ina_open() */
	INA_MPI_TRIED,   /* ina_open() has returned */
	INA_MPI_TOLD,    /* this rank has told rank 0 the result */
	INA_MPI_DECIDED, /* all ranks use libina, or all leave the calls to MPI */
};

struct ina_mpi_counterpart {
	struct ina_mpi_counterpart *next; /* in the list of all counterparts */
	enum ina_mpi_why why;             /* INA_MPI_BY_INA, or why MPI carries out its calls */
	MPI_Comm mpi;
	int rank;
	int ranks;
	int *world_ranks;
	uint32_t root;            /* the address of rank 0 */
	uint64_t cookie;          /* identifies the counterpart; rank 0 chooses it at random */
	MPI_Request cookie_comes; /* the lock protects this and all that follows */

	pthread_t thread; /* opens the counterpart, finishes nonblocking calls, closes the
	                     counterpart */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	enum ina_mpi_phase phase;
	struct ina_mpi_place place; /* of the latest call */
	bool is_opened;             /* after INA_MPI_DECIDED: calls can proceed */
	bool is_left;               /* libina could not be opened; MPI carries out the calls */
	MPI_Comm started_comm;      /* in this case, for nonblocking calls */
	bool is_astray;             /* for the same call some ranks used MPI, others libina */
	bool is_closing;
	MPI_Request closing; /* completes when all ranks are closing */
	bool is_ended;
	ina_comm *comm;            /* NULL before it is opened and after it is closed */
	int fd;                    /* ina_comm_fd() */
	enum ina_status status;    /* of ina_open() */
	char text[INA_ERROR_SIZE]; /* of the latest error */
	struct ina_mpi_op *first;  /* operations in progress, in order */
	struct ina_mpi_op *last;
	uint64_t reported[INA_MPI_WITHOUT]; /* how many of libina's calls the report has counted */
	unsigned int started; /* operations in progress for which no thread waits in a call */

	/* Only the talk's thread uses the following. */
	int here; /* at rank 0: the number of ranks that have sent HERE */
	int told; /* at rank 0: the number of ranks that have sent TRIED */
	enum ina_status worst;
	char reason[INA_ERROR_SIZE];
	uint64_t awaited; /* place.by_ina of the first operation in progress */
	int64_t since_ms;
	struct ina_mpi_place astray; /* of the call for which some used MPI, or a later one */
	bool is_stray;               /* this rank is one of these */
	unsigned int seen_inside;    /* the last value of ina_mpi_world.entered */
	int64_t inside_since_ms;
};

#endif
