/* SPDX-License-Identifier: Apache-2.0 */
/* What is known from MPI_Init to MPI_Finalize, and the functions of MPI that are wrapped. */
#ifndef INA_MPI_WORLD_H
#define INA_MPI_WORLD_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Everything that the interposer defines in MPI's place. */
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
	const char *unable;  /* why this rank cannot take part; NULL: it can */
	const char *verbose; /* INA_MPI_VERBOSE of this rank alone; NULL: it is not set, or 0 */
	size_t threshold;    /* bytes; what is smaller is MPI's. The same on all ranks */
	int rank;            /* in MPI_COMM_WORLD */
	uint32_t *addresses; /* of the RDMA side of each rank of it; 0: it has none */
	MPI_Group group;
	MPI_Comm quiet;  /* its ranks, and no messages: for ina_mpi_poke(), and to make others of */
	MPI_Comm talk;   /* its ranks, and the interposer's own messages (talk.h) */
	int keyval;      /* of an MPI communicator: its channel */
	int error_class; /* what an error of libina is for MPI */
	/* Threads of the program inside of MPI's own functions that may wait for other ranks, and
	   how often one came there. */
	atomic_uint inside;
	atomic_uint entered;
};
extern struct ina_mpi_world ina_mpi_world;

/* provided: what MPI_Init_thread() said. Collective. */
void ina_mpi_world_begin(int provided);
void ina_mpi_world_end(void);

/* Says, once in a process, why MPI does collectives that libina could do. */
void ina_mpi_say_left(const char *reason);

/* Lets MPI get on with what it has under way, where the program waits for libina: others may wait
 * for a message of this rank. */
void ina_mpi_poke(void);

#endif
