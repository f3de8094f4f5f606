/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI requires that all ranks of a collective give the same count, type signature, operation and
 * root. For a broadcast and an all-gather only the signature must be the same: one rank may give
 * one element of a derived type and another rank many elements of a predefined type. So only the
 * number of bytes decides about these two.
 */
#include "decide.h"

#include <limits.h>

#include "life.h"
#include "numbers.h"
#include "world.h"

/*
 * Finds the number of blocks, the elements of a block, and whether all blocks are equal. Returns
 * false for arguments that MPI refuses or may refuse, so that MPI itself refuses them.
 */
static bool measure(const struct ina_mpi_call *call, size_t *blocks, size_t *count, bool *equal)
{
	const struct ina_call_row *row = ina_mpi_row(call->kind);
	int ranks;

	*blocks = 1;
	*equal = true;
	if (call->comm == MPI_COMM_NULL || call->recv_type == MPI_DATATYPE_NULL)
		return false;
	if (PMPI_Comm_size(call->comm, &ranks) != MPI_SUCCESS)
		return false;
	if (row->send == INA_ALL || row->recv == INA_ALL)
		*blocks = (size_t)ranks;
	if (call->recv_counts) {
		*count = (size_t)call->recv_counts[0];
		for (int r = 0; r < ranks; r++) {
			if (call->recv_counts[r] < 0)
				return false;
			*equal &= call->recv_counts[r] == call->recv_counts[0];
		}
		return true;
	}
	*count = (size_t)call->recv_count;
	return call->recv_count >= 0;
}

static enum ina_mpi_why judge_numbers(const struct ina_mpi_call *call, struct ina_mpi_plan *plan)
{
	if (!ina_mpi_type(call->recv_type, &plan->type))
		return INA_MPI_TYPE;
	if (!ina_mpi_op(call->op, &plan->op))
		return INA_MPI_OP;
	return INA_MPI_BY_INA;
}

struct ina_mpi_plan ina_mpi_decide(const struct ina_mpi_call *call)
{
	struct ina_mpi_plan plan = {.why = INA_MPI_ARGUMENT, .type = INA_UINT8, .op = INA_SUM};
	bool has_elements = ina_call_has_elements(ina_mpi_call_kind(call->kind));
	bool is_reduction = ina_mpi_row(call->kind)->combines;
	size_t blocks;
	bool equal;
	int size = 0;

	if (!ina_mpi_world.is_open || !measure(call, &blocks, &plan.count, &equal))
		return plan;
	if (has_elements && PMPI_Type_size(call->recv_type, &size) != MPI_SUCCESS)
		return plan;
	plan.bytes = blocks * plan.count * (size_t)size;
	if (has_elements && equal && plan.bytes < ina_mpi_world.threshold)
		plan.why = INA_MPI_SMALL;
	else if (is_reduction)
		plan.why = equal ? judge_numbers(call, &plan) : INA_MPI_BLOCKS;
	else
		plan.why = INA_MPI_BY_INA;
	plan.element_bytes = (size_t)size;
	if (!is_reduction) {
		plan.count *= (size_t)size;
		plan.element_bytes = 1;
	}
	/* A rank may have a derived type, and MPI_Pack() counts in int. */
	if (!is_reduction && plan.count > INT_MAX)
		plan.why = INA_MPI_HUGE;
	plan.counterpart = ina_mpi_counterpart_of(call->comm);
	plan.rank = plan.counterpart->rank;
	plan.ranks = plan.counterpart->ranks;
	plan.why = ina_mpi_counterpart_enter(plan.counterpart, call, &plan);
	return plan;
}
