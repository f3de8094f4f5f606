/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each collective as an all-reduce. Where each rank has something else to say, the others add zeros
 * to it, as int32, so that all bits come as they are.
 */
#include "op.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "hostlib/elements/number.h"
#include "numbers.h"

static bool is_gathered(const struct ina_mpi_op *op)
{
	return op->call.kind == INA_MPI_BCAST || op->call.kind == INA_MPI_ALLGATHER;
}

/* Does this rank say something, or get something? */
static bool is_source(const struct ina_mpi_op *op)
{
	return op->call.kind != INA_MPI_BCAST || op->call.root == op->plan.channel->rank;
}

static bool is_sink(const struct ina_mpi_op *op)
{
	if (op->call.kind == INA_MPI_BCAST)
		return op->call.root != op->plan.channel->rank;
	return op->call.kind != INA_MPI_REDUCE || op->call.root == op->plan.channel->rank;
}

static size_t blocks(const struct ina_mpi_op *op)
{
	return op->call.kind == INA_MPI_ALLREDUCE || op->call.kind == INA_MPI_REDUCE ||
	                       op->call.kind == INA_MPI_BCAST
	               ? 1
	               : (size_t)op->plan.channel->ranks;
}

/* Where this rank's block of a gathered one begins, of so many bytes each. */
static char *own_block(const struct ina_mpi_op *op, void *memory)
{
	size_t before = op->call.kind == INA_MPI_BCAST ? 0 : (size_t)op->plan.channel->rank;

	return (char *)memory + before * op->plan.count;
}

/* Memory of the program and `bytes` bytes as they are sent, either way. */
static void pack(const void *from, int count, MPI_Datatype type, void *to, size_t bytes,
                 MPI_Comm comm)
{
	int position = 0;

	if (ina_mpi_is_dense(type)) {
		memcpy(to, from, bytes);
		return;
	}
	PMPI_Pack(from, count, type, to, (int)bytes, &position, comm);
	assert((size_t)position == bytes);
}

static void unpack(const void *from, size_t bytes, void *to, int count, MPI_Datatype type,
                   MPI_Comm comm)
{
	int position = 0;

	if (ina_mpi_is_dense(type))
		memcpy(to, from, bytes);
	else
		PMPI_Unpack(from, (int)bytes, &position, to, count, type, comm);
}

/* In place, MPI_Allgather's block is where it comes to. */
static void pack_own(const struct ina_mpi_op *op)
{
	const struct ina_mpi_call *call = &op->call;
	const char *recv = call->recv;
	MPI_Aint lower, extent;

	if (call->kind == INA_MPI_ALLGATHER && call->send != MPI_IN_PLACE) {
		pack(call->send, call->send_count, call->send_type, own_block(op, op->scratch),
		     op->plan.count, call->comm);
		return;
	}
	if (call->kind == INA_MPI_ALLGATHER) {
		PMPI_Type_get_extent(call->recv_type, &lower, &extent);
		recv += (MPI_Aint)op->plan.channel->rank * call->recv_count * extent;
	}
	pack(recv, call->recv_count, call->recv_type, own_block(op, op->scratch), op->plan.count,
	     call->comm);
}

/* The program may free a type as soon as it has started a call with it. */
static void keep_type(struct ina_mpi_op *op)
{
	if (!ina_mpi_is_dense(op->call.recv_type))
		PMPI_Type_dup(op->call.recv_type, &op->call.recv_type);
}

static void let_go_of_type(struct ina_mpi_op *op)
{
	if (!ina_mpi_is_dense(op->call.recv_type))
		PMPI_Type_free(&op->call.recv_type);
}

enum ina_status ina_mpi_op_prepare(struct ina_mpi_op *op)
{
	bool direct = op->call.kind == INA_MPI_BARRIER || op->call.kind == INA_MPI_ALLREDUCE ||
	              (op->call.kind == INA_MPI_REDUCE && is_sink(op));

	if (direct)
		return INA_OK;
	/* Whole words, and a byte at least. */
	op->scratch = calloc(op->plan.bytes / sizeof(int32_t) + 1, sizeof(int32_t));
	if (!op->scratch)
		return INA_ERR_MEMORY;
	if (is_gathered(op)) {
		keep_type(op);
		if (is_source(op))
			pack_own(op);
	}
	return INA_OK;
}

enum ina_status ina_mpi_op_begin(struct ina_mpi_op *op, ina_comm *comm)
{
	const struct ina_mpi_call *call = &op->call;
	const void *send = call->send == MPI_IN_PLACE ? call->recv : call->send;
	void *recv = op->scratch ? op->scratch : call->recv;

	if (call->kind == INA_MPI_BARRIER)
		return ina_allreduce_start(comm, NULL, NULL, 0, INA_INT32, INA_SUM, &op->request);
	if (is_gathered(op))
		return ina_allreduce_start(comm, recv, recv,
		                           (op->plan.bytes + sizeof(int32_t) - 1) / sizeof(int32_t),
		                           INA_INT32, INA_SUM, &op->request);
	return ina_allreduce_start(comm, send, recv, blocks(op) * op->plan.count, op->plan.type,
	                           op->plan.op, &op->request);
}

static void deliver(const struct ina_mpi_op *op)
{
	const struct ina_mpi_call *call = &op->call;
	size_t bytes = op->plan.count * ina_type_bytes((int)op->plan.type);

	if (!is_sink(op))
		return;
	if (is_gathered(op))
		unpack(op->scratch, op->plan.bytes, call->recv, call->recv_count * (int)blocks(op),
		       call->recv_type, call->comm);
	else
		memcpy(call->recv,
		       (const char *)op->scratch + (size_t)op->plan.channel->rank * bytes, bytes);
}

void ina_mpi_op_end(struct ina_mpi_op *op)
{
	if (op->scratch && op->status == INA_OK)
		deliver(op);
	if (op->scratch && is_gathered(op))
		let_go_of_type(op);
	free(op->scratch);
	op->scratch = NULL;
}
