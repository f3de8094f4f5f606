/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out each collective with the corresponding call of libina. Derived types are packed,
 * because in a broadcast and an all-gather other ranks may describe the same elements by other
 * types.
 */
#include "op.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "world.h"

static const struct ina_call_row *row_of(const struct ina_mpi_op *op)
{
	return ina_mpi_row(op->call.kind);
}

/* True for the collectives that accept derived types; their elements are treated as bytes. */
static bool is_gathered(const struct ina_mpi_op *op)
{
	return !row_of(op)->combines && row_of(op)->recv != INA_NOTHING;
}

static bool has_send_type(const struct ina_mpi_call *call)
{
	return ina_mpi_row(call->kind)->recv == INA_ALL && call->send != MPI_IN_PLACE;
}

static bool is_root(const struct ina_mpi_op *op)
{
	return op->call.root == op->plan.rank;
}

/* The offset of this rank's block, after the blocks of lower ranks, in bytes. */
static size_t own_offset(const struct ina_mpi_op *op)
{
	return (size_t)op->plan.rank * op->plan.count * op->plan.element_bytes;
}

static void pack(const struct ina_mpi_op *op, const void *from, int count, MPI_Datatype type,
                 void *to)
{
	int position = 0;

	PMPI_Pack(from, count, type, to, (int)op->plan.count, &position, op->call.comm);
	assert((size_t)position == op->plan.count);
}

static void unpack(const struct ina_mpi_op *op)
{
	const struct ina_mpi_call *call = &op->call;
	int blocks = row_of(op)->recv == INA_ALL ? op->plan.ranks : 1;
	MPI_Aint lower, extent;

	PMPI_Type_get_extent(call->recv_type, &lower, &extent);
	for (int r = 0; r < blocks; r++) {
		int position = 0;

		PMPI_Unpack((char *)op->scratch + (size_t)r * op->plan.count, (int)op->plan.count,
		            &position, (char *)call->recv + extent * call->recv_count * r,
		            call->recv_count, call->recv_type, call->comm);
	}
}

/* With MPI_IN_PLACE, a rank's own block of MPI_Allgather is already at its place in recv. */
static void pack_own(const struct ina_mpi_op *op)
{
	const struct ina_mpi_call *call = &op->call;
	MPI_Aint lower, extent;

	if (row_of(op)->send == INA_AT_ROOT) {
		if (is_root(op))
			pack(op, call->recv, call->recv_count, call->recv_type, op->scratch);
		return;
	}
	PMPI_Type_get_extent(call->recv_type, &lower, &extent);
	if (call->send == MPI_IN_PLACE)
		pack(op, (char *)call->recv + extent * call->recv_count * op->plan.rank,
		     call->recv_count, call->recv_type, (char *)op->scratch + own_offset(op));
	else
		pack(op, call->send, call->send_count, call->send_type,
		     (char *)op->scratch + own_offset(op));
}

enum ina_status ina_mpi_op_prepare(struct ina_mpi_op *op)
{
	struct ina_mpi_call *call = &op->call;
	bool in_place = call->send == MPI_IN_PLACE;
	bool has_one_buffer = row_of(op)->send == INA_AT_ROOT;

	if (op->plan.is_astray)
		return INA_OK;
	op->from = in_place ? call->recv : call->send;
	op->to = call->recv;
	if (row_of(op)->send == INA_ALL && in_place)
		op->to = (char *)call->recv + own_offset(op);
	if (has_one_buffer)
		op->from = call->recv;
	if (row_of(op)->recv == INA_ALL && in_place)
		op->from = (char *)call->recv + own_offset(op);
	if (!is_gathered(op) || (ina_mpi_is_dense(call->recv_type) &&
	                         (has_one_buffer || in_place || ina_mpi_is_dense(call->send_type))))
		return INA_OK;
	op->scratch = malloc(op->plan.bytes);
	if (!op->scratch)
		return INA_ERR_MEMORY;
	op->to = op->scratch;
	op->from = op->scratch;
	if (row_of(op)->recv == INA_ALL)
		op->from = (char *)op->scratch + own_offset(op);
	pack_own(op);
	/* The program may free the types as soon as a nonblocking call has returned. */
	PMPI_Type_dup(call->recv_type, &call->recv_type);
	if (has_send_type(call))
		PMPI_Type_dup(call->send_type, &call->send_type);
	return INA_OK;
}

enum ina_status ina_mpi_op_begin(struct ina_mpi_op *op, ina_comm *comm)
{
	const struct ina_mpi_plan *plan = &op->plan;

	return ina_call_start(ina_mpi_call_kind(op->call.kind), comm, op->from, op->to, plan->count,
	                      plan->type, plan->op, op->call.root, &op->request);
}

int ina_mpi_op_start_by_mpi(const struct ina_mpi_call *call, MPI_Comm comm, MPI_Request *request)
{
	const struct ina_mpi_real *real = &ina_mpi_real;

	switch (call->kind) {
	case INA_MPI_ALLREDUCE:
		return real->Iallreduce(call->send, call->recv, call->recv_count, call->recv_type,
		                        call->op, comm, request);
	case INA_MPI_REDUCE:
		return real->Ireduce(call->send, call->recv, call->recv_count, call->recv_type,
		                     call->op, call->root, comm, request);
	case INA_MPI_BCAST:
		return real->Ibcast(call->recv, call->recv_count, call->recv_type, call->root, comm,
		                    request);
	case INA_MPI_REDUCE_SCATTER:
		return real->Ireduce_scatter(call->send, call->recv, call->recv_counts,
		                             call->recv_type, call->op, comm, request);
	case INA_MPI_REDUCE_SCATTER_BLOCK:
		return real->Ireduce_scatter_block(call->send, call->recv, call->recv_count,
		                                   call->recv_type, call->op, comm, request);
	case INA_MPI_ALLGATHER:
		return real->Iallgather(call->send, call->send_count, call->send_type, call->recv,
		                        call->recv_count, call->recv_type, comm, request);
	default:
		return real->Ibarrier(comm, request);
	}
}

void ina_mpi_op_end(struct ina_mpi_op *op)
{
	bool by_ina = op->status == INA_OK && !op->is_left;

	if (op->scratch && by_ina)
		unpack(op);
	if (op->scratch) {
		PMPI_Type_free(&op->call.recv_type);
		if (has_send_type(&op->call))
			PMPI_Type_free(&op->call.send_type);
		free(op->scratch);
	}
	/* For an in-place reduce-scatter, MPI puts the result at the start, libina at the block. */
	if (row_of(op)->send == INA_ALL && op->call.send == MPI_IN_PLACE && by_ina)
		memmove(op->call.recv, op->to, op->plan.count * op->plan.element_bytes);
}
