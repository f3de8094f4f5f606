/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"

#include <inttypes.h>
#include <stdio.h>

#include "report.h"
#include "world.h"

static void record_error(struct ina_mpi_op *op, const char *text)
{
	char shown[MPI_MAX_ERROR_STRING];

	op->code = ina_mpi_world.error_class;
	if (PMPI_Add_error_code(ina_mpi_world.error_class, &op->code) != MPI_SUCCESS)
		return;
	snprintf(shown, sizeof(shown), "libina: %.*s", (int)sizeof(shown) - 16, text);
	PMPI_Add_error_string(op->code, shown);
}

/*
 * The reason for the operation that has just ended. Several may have ended since the last call. So
 * a call that libina has counted and the report has not is attributed to this one, aggregated calls
 * first.
 */
static enum ina_mpi_why why_of_last(struct ina_mpi_channel *channel)
{
	struct ina_stats stats;

	ina_comm_stats(channel->comm, &stats, sizeof(stats));

	const uint64_t done[INA_MPI_WITHOUT] = {
	        [INA_MPI_BY_INA] = stats.calls_aggregated,
	        [INA_MPI_UNFIT] = stats.calls_unfit,
	        [INA_MPI_HALVED] = stats.calls_halved,
	};

	for (int why = 0; why < INA_MPI_WITHOUT; why++) {
		if (channel->reported[why] != done[why]) {
			channel->reported[why]++;
			return why;
		}
	}
	return INA_MPI_WITHOUT;
}

/* The first operation has ended: lets its caller, or the thread that waits for it, continue. */
static void finish_first(struct ina_mpi_channel *channel)
{
	struct ina_mpi_op *op = channel->first;

	channel->first = op->next;
	if (!channel->first)
		channel->last = NULL;
	if (op->is_left)
		ina_mpi_report(&op->call, op->plan.bytes, INA_MPI_LEFT);
	else if (op->status != INA_OK)
		record_error(op, channel->text);
	else
		ina_mpi_report(&op->call, op->plan.bytes, why_of_last(channel));
	ina_mpi_op_end(op);
	if (op->call.started) {
		channel->started--;
		PMPI_Grequest_complete(op->handle); /* op may be freed by now */
	} else {
		op->is_done = true;
	}
}

/* True if the operation, which is the first one, has ended. */
static bool is_at_its_end(struct ina_mpi_channel *channel, struct ina_mpi_op *op)
{
	int done = 1;

	if (op->by_mpi != MPI_REQUEST_NULL)
		op->code = PMPI_Test(&op->by_mpi, &done, MPI_STATUS_IGNORE);
	if (op->request)
		op->status = ina_test(op->request, &done);
	if (done && op->status != INA_OK && channel->comm && !channel->is_astray)
		snprintf(channel->text, sizeof(channel->text), "%s", ina_error(channel->comm));
	return done;
}

static void begin_op(struct ina_mpi_channel *channel, struct ina_mpi_op *op)
{
	op->is_begun = true;
	if (channel->is_astray) {
		op->status = INA_ERR_MISMATCH;
	} else if (!channel->is_left) {
		op->status = ina_mpi_op_begin(op, channel->comm);
	} else {
		op->is_left = true;
		if (op->call.started)
			op->code = ina_mpi_op_start_by_mpi(&op->call, channel->started_comm,
			                                   &op->by_mpi);
	}
}

void ina_mpi_queue_advance(struct ina_mpi_channel *channel)
{
	if (!channel->is_opened && !channel->is_astray)
		return;
	for (struct ina_mpi_op *op = channel->first; op; op = op->next) {
		if (!op->is_begun)
			begin_op(channel, op);
	}
	while (channel->first && is_at_its_end(channel, channel->first))
		finish_first(channel);
}

void ina_mpi_queue_lead_astray(struct ina_mpi_channel *channel, const char *text)
{
	if (channel->is_astray || channel->is_left)
		return;
	channel->is_astray = true;
	snprintf(channel->text, sizeof(channel->text), "%s", text);
	ina_abort(channel->comm, text);
	ina_mpi_queue_advance(channel);
	pthread_cond_broadcast(&channel->wake);
}

void ina_mpi_queue_put(struct ina_mpi_channel *channel, struct ina_mpi_op *op)
{
	if (channel->last)
		channel->last->next = op;
	else
		channel->first = op;
	channel->last = op;
	if (op->call.started) {
		channel->started++;
		pthread_cond_broadcast(&channel->wake);
	}
	ina_mpi_queue_advance(channel);
}

void ina_mpi_queue_inherit_errhandler(struct ina_mpi_channel *channel)
{
	MPI_Errhandler handler;

	PMPI_Comm_get_errhandler(channel->mpi, &handler);
	PMPI_Comm_set_errhandler(channel->started_comm, handler);
	PMPI_Errhandler_free(&handler);
}

bool ina_mpi_queue_start_by_mpi(struct ina_mpi_channel *channel, const struct ina_mpi_call *call,
                                MPI_Request *request, int *code)
{
	bool is_mine;

	pthread_mutex_lock(&channel->lock);
	is_mine = channel->is_left && channel->is_opened && !channel->first;
	if (is_mine) {
		ina_mpi_queue_inherit_errhandler(channel);
		*code = ina_mpi_op_start_by_mpi(call, channel->started_comm, request);
	}
	pthread_mutex_unlock(&channel->lock);
	return is_mine;
}
