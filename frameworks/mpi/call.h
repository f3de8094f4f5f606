/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collective as the program has called it, in the one form that the rest works on, and what has
 * been decided about it. What MPI calls the buffer of a broadcast, and count and type of a
 * reduction, are recv, recv_count, recv_type.
 */
#ifndef INA_MPI_CALL_H
#define INA_MPI_CALL_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hostlib/include/ina.h"

struct ina_mpi_channel;

enum ina_mpi_kind {
	INA_MPI_ALLREDUCE,
	INA_MPI_REDUCE,
	INA_MPI_BCAST,
	INA_MPI_BARRIER,
	INA_MPI_REDUCE_SCATTER,
	INA_MPI_REDUCE_SCATTER_BLOCK,
	INA_MPI_ALLGATHER,
	INA_MPI_KINDS
};

struct ina_mpi_call {
	enum ina_mpi_kind kind;
	bool started; /* MPI_Iallreduce and the like */
	MPI_Comm comm;
	const void *send;
	int send_count;         /* MPI_Allgather alone */
	MPI_Datatype send_type; /* the same */
	void *recv;
	int recv_count;
	const int *recv_counts; /* MPI_Reduce_scatter: in place of recv_count */
	MPI_Datatype recv_type;
	MPI_Op op;
	int root;
};

/*
 * Where a call is among those of its communicator, from 1 on. Ranks that call the same have the
 * same places; a rank that does by MPI what others do by libina falls behind in the second number.
 */
struct ina_mpi_place {
	uint64_t calls;  /* of all collectives that the interposer knows */
	uint64_t by_ina; /* of those that libina does */
};

/* Which way it goes: by libina, or by MPI for this reason. */
enum ina_mpi_why {
	INA_MPI_BY_INA,
	/* Why libina did it among the hosts, known at its end. */
	INA_MPI_UNFIT,
	INA_MPI_HALVED,
	INA_MPI_WITHOUT,
	/* Why it is MPI's. */
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
	enum ina_mpi_why why; /* INA_MPI_BY_INA: all that follows is set */
	size_t bytes;         /* of the elements that it is about, always set */
	size_t count;         /* of elements, or bytes where nothing is combined; a block's */
	size_t element_bytes; /* 1 where nothing is combined */
	enum ina_type type;
	enum ina_op op;
	struct ina_mpi_channel *channel;
	int rank; /* in it */
	int ranks;
	struct ina_mpi_place place;
	bool is_astray; /* the channel is: it is to fail */
};

#endif
