/* SPDX-License-Identifier: Apache-2.0 */
/* The state from MPI_Init to MPI_Finalize, and the functions of MPI that are wrapped. */
#ifndef INA_MPI_WORLD_H
#define INA_MPI_WORLD_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All functions that the interposer defines instead of MPI. */
#define INA_MPI_FUNCTIONS(X)                                                                       \
	X(Init)                                                                                    \
	X(Init_thread)                                                                             \
	X(Finalize)                                                                                \
	X(Comm_free)                                                                               \
	X(Comm_disconnect)                                                                         \
	X(Wait)                                                                                    \
	X(Test)                                                                                    \
	X(Waitany)                                                                                 \
	X(Testany)                                                                                 \
	X(Waitall)                                                                                 \
	X(Testall)                                                                                 \
	X(Waitsome)                                                                                \
	X(Testsome)                                                                                \
	X(Allreduce)                                                                               \
	X(Iallreduce)                                                                              \
	X(Reduce)                                                                                  \
	X(Ireduce)                                                                                 \
	X(Bcast)                                                                                   \
	X(Ibcast)                                                                                  \
	X(Barrier)                                                                                 \
	X(Ibarrier)                                                                                \
	X(Reduce_scatter)                                                                          \
	X(Ireduce_scatter)                                                                         \
	X(Reduce_scatter_block)                                                                    \
	X(Ireduce_scatter_block)                                                                   \
	X(Allgather)                                                                               \
	X(Iallgather)

/* MPI's own functions of these names. */
struct ina_mpi_real {
#define INA_MPI_FIELD(name) __typeof__(&MPI_##name) name;
	INA_MPI_FUNCTIONS(INA_MPI_FIELD)
#undef INA_MPI_FIELD
};
extern struct ina_mpi_real ina_mpi_real;

struct ina_mpi_world {
	bool is_open;        /* between MPI_Init and MPI_Finalize */
	const char *unable;  /* why this rank cannot take part, or NULL */
	const char *verbose; /* this rank's INA_MPI_VERBOSE; NULL if it is not set, or 0 */
	size_t threshold;    /* bytes; MPI carries out smaller calls. Equal on all ranks */
	int rank;            /* in MPI_COMM_WORLD */
	bool has_list;       /* of devices (INA_HCA), and no address: libina chooses */
	uint32_t *addresses; /* the RDMA address of each rank in it; 0: not known */
	MPI_Group group;
	MPI_Comm quiet;  /* all ranks, no messages: for ina_mpi_poke(), and to create others */
	MPI_Comm talk;   /* all ranks: for the interposer's own messages (talk.h) */
	int keyval;      /* of the attribute that holds an MPI communicator's counterpart */
	int error_class; /* MPI's class for errors of libina */
	/* Threads of the program that are inside MPI functions that may wait for other ranks, and
	   the number of times that a thread has entered one. */
	atomic_uint inside;
	atomic_uint entered;
};
extern struct ina_mpi_world ina_mpi_world;

/* provided: the thread level that MPI_Init_thread() returned. Collective. */
void ina_mpi_world_begin(int provided);
void ina_mpi_world_end(void);

/* Prints, once in each process, why MPI carries out collectives that libina could. */
void ina_mpi_say_left(const char *reason);

/*
 * Lets MPI progress while the program waits for libina: other ranks may wait for a message from
 * this one.
 */
void ina_mpi_poke(void);

#endif
