/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collective as the program has called it, in one form for all collectives, and the decision
 * about it. The buffer of a broadcast, and the count and the type of a reduction, are recv,
 * recv_count and recv_type.
 */
#ifndef INA_MPI_CALL_H
#define INA_MPI_CALL_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hostlib/tables/collectives.h"

struct ina_mpi_counterpart;

/*
 * MPI's collectives, one row each: the kind, MPI's blocking and nonblocking function, and the
 * collective of libina that carries it out.
 */
#define INA_MPI_COLLECTIVES(X)                                                                     \
	X(ALLREDUCE, Allreduce, Iallreduce, ALLREDUCE)                                             \
	X(REDUCE, Reduce, Ireduce, REDUCE)                                                         \
	X(BCAST, Bcast, Ibcast, BROADCAST)                                                         \
	X(BARRIER, Barrier, Ibarrier, BARRIER)                                                     \
	X(REDUCE_SCATTER, Reduce_scatter, Ireduce_scatter, REDUCE_SCATTER)                         \
	X(REDUCE_SCATTER_BLOCK, Reduce_scatter_block, Ireduce_scatter_block, REDUCE_SCATTER)       \
	X(ALLGATHER, Allgather, Iallgather, ALL_GATHER)

#define INA_MPI_KIND(kind, ...) INA_MPI_##kind,
enum ina_mpi_kind { INA_MPI_COLLECTIVES(INA_MPI_KIND) INA_MPI_KINDS };

#define INA_MPI_CALL(kind, blocking, nonblocking, ina) [INA_MPI_##kind] = INA_CALL_##ina,
static inline enum ina_call_kind ina_mpi_call_kind(enum ina_mpi_kind kind)
{
	static const enum ina_call_kind calls[] = {INA_MPI_COLLECTIVES(INA_MPI_CALL)};

	return calls[kind];
}

static inline const struct ina_call_row *ina_mpi_row(enum ina_mpi_kind kind)
{
	return ina_call_row(ina_mpi_call_kind(kind));
}

struct ina_mpi_call {
	enum ina_mpi_kind kind;
	bool started; /* a nonblocking call, such as MPI_Iallreduce */
	MPI_Comm comm;
	const void *send;
	int send_count;         /* MPI_Allgather only */
	MPI_Datatype send_type; /* MPI_Allgather only */
	void *recv;
	int recv_count;
	const int *recv_counts; /* MPI_Reduce_scatter, instead of recv_count */
	MPI_Datatype recv_type;
	MPI_Op op;
	int root;
};

/*
 * A call's place in the sequence of calls on its communicator, from 1 on. If all ranks make the
 * same calls, their places are equal. If a rank uses MPI for a call for which others use libina,
 * its second number stays lower.
 */
struct ina_mpi_place {
	uint64_t calls;  /* all collectives that the interposer handles */
	uint64_t by_ina; /* those that libina carries out */
};

/* Whether libina carries out a call, or the reason why MPI does. */
enum ina_mpi_why {
	INA_MPI_BY_INA,
	/* Reasons why libina let the hosts sum; known when the call has finished. */
	INA_MPI_UNFIT,
	INA_MPI_HALVED,
	INA_MPI_WITHOUT,
	/* Reasons why MPI carries out the call. */
	INA_MPI_SMALL,
	INA_MPI_TYPE,
	INA_MPI_OP,
	INA_MPI_BLOCKS,
	INA_MPI_HUGE,
	INA_MPI_UNOPENED,
	INA_MPI_INTER,
	INA_MPI_FEW,
	INA_MPI_MANY,
	INA_MPI_FOREIGN,
	INA_MPI_UNABLE,
	INA_MPI_ONE_HOST,
	INA_MPI_LEFT,
	INA_MPI_ARGUMENT,
	INA_MPI_WHYS
};

struct ina_mpi_plan {
	enum ina_mpi_why why; /* if INA_MPI_BY_INA, all fields below are set */
	size_t bytes;         /* of all elements of the call; always set */
	size_t count;         /* of elements, or of bytes if it only moves them; of one block */
	size_t element_bytes; /* 1 if the call only moves elements */
	enum ina_type type;
	enum ina_op op;
	struct ina_mpi_counterpart *counterpart;
	int rank; /* in the counterpart */
	int ranks;
	struct ina_mpi_place place;
	bool is_astray; /* the counterpart is astray, so the call must fail */
};

#endif
