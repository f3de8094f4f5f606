/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collective as the program has called it, in the one form that the rest works on. What MPI calls
 * the buffer of a broadcast, and count and type of a reduction, are recv, recv_count, recv_type.
 */
#ifndef INA_MPI_CALL_H
#define INA_MPI_CALL_H

#include <mpi.h>
#include <stdbool.h>

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

#endif
