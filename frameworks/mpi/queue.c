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
static enum ina_mpi_why why_of_last(struct ina_mpi_counterpart *counterpart)
{
	struct ina_stats stats;

	ina_comm_stats(counterpart->comm, &stats, sizeof(stats));

	const uint64_t done[INA_MPI_WITHOUT] = {
	        [INA_MPI_BY_INA] = stats.calls_aggregated,
	        [INA_MPI_UNFIT] = stats.calls_unfit,
	        [INA_MPI_HALVED] = stats.calls_halved,
	};

	for (int why = 0; why < INA_MPI_WITHOUT; why++) {
		if (counterpart->reported[why] != done[why]) {
			counterpart->reported[why]++;
			return why;
		}
	}
	return INA_MPI_WITHOUT;
}

/* The first operation has ended: lets its caller, or the thread that waits for it, continue. */
static void finish_first(struct ina_mpi_counterpart *counterpart)
{
	struct ina_mpi_op *op = counterpart->first;

	counterpart->first = op->next;
	if (!counterpart->first)
		counterpart->last = NULL;
	if (op->is_left)
		ina_mpi_report(&op->call, op->plan.bytes, INA_MPI_LEFT);
	else if (op->status != INA_OK)
		record_error(op, counterpart->text);
	else
		ina_mpi_report(&op->call, op->plan.bytes, why_of_last(counterpart));
	ina_mpi_op_end(op);
	if (op->call.started) {
		counterpart->started--;
		PMPI_Grequest_complete(op->handle); /* op may be freed by now */
	} else {
		op->is_done = true;
	}
}

/* True if the operation, which is the first one, has ended. */
static bool is_at_its_end(struct ina_mpi_counterpart *counterpart, struct ina_mpi_op *op)
{
	int done = 1;

	if (op->by_mpi != MPI_REQUEST_NULL)
		op->code = PMPI_Test(&op->by_mpi, &done, MPI_STATUS_IGNORE);
	if (op->request)
		op->status = ina_test(op->request, &done);
	if (done && op->status != INA_OK && counterpart->comm && !counterpart->is_astray)
		snprintf(counterpart->text, sizeof(counterpart->text), "%s",
		         ina_error(counterpart->comm));
	return done;
}

static void begin_op(struct ina_mpi_counterpart *counterpart, struct ina_mpi_op *op)
{
	op->is_begun = true;
	if (counterpart->is_astray) {
		op->status = INA_ERR_MISMATCH;
	} else if (!counterpart->is_left) {
		op->status = ina_mpi_op_begin(op, counterpart->comm);
	} else {
		op->is_left = true;
		if (op->call.started)
			op->code = ina_mpi_op_start_by_mpi(&op->call, counterpart->started_comm,
			                                   &op->by_mpi);
	}
}

void ina_mpi_queue_advance(struct ina_mpi_counterpart *counterpart)
{
	if (!counterpart->is_opened && !counterpart->is_astray)
		return;
	for (struct ina_mpi_op *op = counterpart->first; op; op = op->next) {
		if (!op->is_begun)
			begin_op(counterpart, op);
	}
	while (counterpart->first && is_at_its_end(counterpart, counterpart->first))
		finish_first(counterpart);
}

void ina_mpi_queue_lead_astray(struct ina_mpi_counterpart *counterpart, const char *text)
{
	if (counterpart->is_astray || counterpart->is_left)
		return;
	counterpart->is_astray = true;
	snprintf(counterpart->text, sizeof(counterpart->text), "%s", text);
	ina_abort(counterpart->comm, text);
	ina_mpi_queue_advance(counterpart);
	pthread_cond_broadcast(&counterpart->wake);
}

void ina_mpi_queue_put(struct ina_mpi_counterpart *counterpart, struct ina_mpi_op *op)
{
	if (counterpart->last)
		counterpart->last->next = op;
	else
		counterpart->first = op;
	counterpart->last = op;
	if (op->call.started) {
		counterpart->started++;
		pthread_cond_broadcast(&counterpart->wake);
	}
	ina_mpi_queue_advance(counterpart);
}

void ina_mpi_queue_inherit_errhandler(struct ina_mpi_counterpart *counterpart)
{
	MPI_Errhandler handler;

	PMPI_Comm_get_errhandler(counterpart->mpi, &handler);
	PMPI_Comm_set_errhandler(counterpart->started_comm, handler);
	PMPI_Errhandler_free(&handler);
}

bool ina_mpi_queue_start_by_mpi(struct ina_mpi_counterpart *counterpart,
                                const struct ina_mpi_call *call, MPI_Request *request, int *code)
{
	bool is_mine;

	pthread_mutex_lock(&counterpart->lock);
	is_mine = counterpart->is_left && counterpart->is_opened && !counterpart->first;
	if (is_mine) {
		ina_mpi_queue_inherit_errhandler(counterpart);
		*code = ina_mpi_op_start_by_mpi(call, counterpart->started_comm, request);
	}
	pthread_mutex_unlock(&counterpart->lock);
	return is_mine;
}
