/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that the program calls instead of MPI's. This file defines both names of each
 * function, MPI_ and PMPI_. MPI's bindings for Fortran call one of them, so their calls arrive here
 * too, with C's arguments.
 */
#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "decide.h"
#include "life.h"
#include "op.h"
#include "queue.h"
#include "report.h"
#include "talk.h"
#include "world.h"

#define EXPORT __attribute__((visibility("default")))

/*
 * The error of a nonblocking operation, for the function in which this thread waits for it. MPI's
 * own mechanism, an error of the query function, would call MPI_COMM_WORLD's error handler.
 */
static _Thread_local MPI_Comm failed_comm;
static _Thread_local int failed_code;

/* MPI calls this when a generalized request has completed. */
static int query(void *context, MPI_Status *status)
{
	const struct ina_mpi_op *op = context;

	if (op->code != MPI_SUCCESS) {
		failed_comm = op->call.comm;
		failed_code = op->code;
	}

	PMPI_Status_set_elements(status, MPI_BYTE, 0);
	PMPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_UNDEFINED;
	status->MPI_TAG = MPI_UNDEFINED;
	return MPI_SUCCESS;
}

static int let_go(void *context)
{
	free(context);
	return MPI_SUCCESS;
}

/* Does nothing, since MPI does not allow cancelling a collective. */
static int cancel(void *context, int complete)
{
	(void)context;
	(void)complete;
	return MPI_SUCCESS;
}

static int raise_error(MPI_Comm comm, int code)
{
	if (code != MPI_SUCCESS)
		PMPI_Comm_call_errhandler(comm, code);
	return code;
}

static int out_of_memory(MPI_Comm comm)
{
	return raise_error(comm, MPI_ERR_NO_MEM);
}

/* Returns false if MPI has to carry out the call after all. */
static bool do_blocking(const struct ina_mpi_call *call, const struct ina_mpi_plan *plan, int *code)
{
	struct ina_mpi_op op = {.call = *call, .plan = *plan};

	if (ina_mpi_op_prepare(&op) != INA_OK) {
		*code = out_of_memory(call->comm);
		return true;
	}
	if (!ina_mpi_counterpart_do(plan->counterpart, &op))
		return false;
	*code = raise_error(call->comm, op.code);
	return true;
}

static int start(const struct ina_mpi_call *call, const struct ina_mpi_plan *plan,
                 MPI_Request *request)
{
	struct ina_mpi_op *op;
	int code;

	if (ina_mpi_queue_start_by_mpi(plan->counterpart, call, request, &code)) {
		ina_mpi_report(call, plan->bytes, INA_MPI_LEFT);
		return code;
	}
	op = calloc(1, sizeof(*op));
	if (!op)
		return out_of_memory(call->comm);
	op->call = *call;
	op->plan = *plan;
	if (ina_mpi_op_prepare(op) != INA_OK) {
		free(op);
		return out_of_memory(call->comm);
	}
	code = PMPI_Grequest_start(query, let_go, cancel, op, &op->handle);
	if (code != MPI_SUCCESS) {
		ina_mpi_op_end(op);
		free(op);
		return raise_error(call->comm, code);
	}
	*request = op->handle;
	ina_mpi_counterpart_do(plan->counterpart, op);
	return MPI_SUCCESS;
}

/*
 * Decides about a call. Counts it in the report if MPI carries it out; other calls are counted when
 * they finish.
 */
static bool is_ours(const struct ina_mpi_call *call, struct ina_mpi_plan *plan)
{
	*plan = ina_mpi_decide(call);
	if (plan->why != INA_MPI_BY_INA)
		ina_mpi_report(call, plan->bytes, plan->why);
	return plan->why == INA_MPI_BY_INA;
}

/* Enclose a call of MPI that may wait for other ranks. */
static void go_inside(void)
{
	atomic_fetch_add(&ina_mpi_world.entered, 1);
	atomic_fetch_add(&ina_mpi_world.inside, 1);
}

static int come_out(int code)
{
	atomic_fetch_sub(&ina_mpi_world.inside, 1);
	return code;
}

#define BOTH_NAMES(name)                                                                           \
	EXPORT __typeof__(MPI_##name) MPI_##name;                                                  \
	extern __typeof__(MPI_##name) PMPI_##name                                                  \
	        __attribute__((alias("MPI_" #name), visibility("default")));
INA_MPI_FUNCTIONS(BOTH_NAMES)

/*
 * Defines a collective's blocking and nonblocking functions. The last arguments describe the call,
 * as members of struct ina_mpi_call; `arguments` is MPI's argument list.
 */
#define PARENTHESES(...) __VA_ARGS__
#define INSIDE(call)     (go_inside(), come_out(call))
#define COLLECTIVE(blocking, nonblocking, parameters, arguments, ...)                              \
	int MPI_##blocking(PARENTHESES parameters)                                                 \
	{                                                                                          \
		struct ina_mpi_call call = {.comm = comm, __VA_ARGS__};                            \
		struct ina_mpi_plan plan;                                                          \
		int code;                                                                          \
                                                                                                   \
		if (!is_ours(&call, &plan) || !do_blocking(&call, &plan, &code))                   \
			code = INSIDE(ina_mpi_real.blocking(PARENTHESES arguments));               \
		return code;                                                                       \
	}                                                                                          \
	int MPI_##nonblocking(PARENTHESES parameters, MPI_Request *request)                        \
	{                                                                                          \
		struct ina_mpi_call call = {.comm = comm, .started = true, __VA_ARGS__};           \
		struct ina_mpi_plan plan;                                                          \
                                                                                                   \
		return is_ours(&call, &plan)                                                       \
		               ? start(&call, &plan, request)                                      \
		               : ina_mpi_real.nonblocking(PARENTHESES arguments, request);         \
	}

COLLECTIVE(Allreduce, Iallreduce,
           (const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (send, recv, count, type, op, comm), .kind = INA_MPI_ALLREDUCE, .send = send,
           .recv = recv, .recv_count = count, .recv_type = type, .op = op)

COLLECTIVE(Reduce, Ireduce,
           (const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root,
            MPI_Comm comm),
           (send, recv, count, type, op, root, comm), .kind = INA_MPI_REDUCE, .send = send,
           .recv = recv, .recv_count = count, .recv_type = type, .op = op, .root = root)

COLLECTIVE(Bcast, Ibcast, (void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
           (buffer, count, type, root, comm), .kind = INA_MPI_BCAST, .recv = buffer,
           .recv_count = count, .recv_type = type, .root = root)

COLLECTIVE(Barrier, Ibarrier, (MPI_Comm comm), (comm), .kind = INA_MPI_BARRIER,
           .recv_type = MPI_BYTE)

COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           (const void *send, void *recv, const int counts[], MPI_Datatype type, MPI_Op op,
            MPI_Comm comm),
           (send, recv, counts, type, op, comm), .kind = INA_MPI_REDUCE_SCATTER, .send = send,
           .recv = recv, .recv_counts = counts, .recv_type = type, .op = op)

COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
           (const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (send, recv, count, type, op, comm), .kind = INA_MPI_REDUCE_SCATTER_BLOCK, .send = send,
           .recv = recv, .recv_count = count, .recv_type = type, .op = op)

COLLECTIVE(Allgather, Iallgather,
           (const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
            MPI_Datatype recv_type, MPI_Comm comm),
           (send, send_count, send_type, recv, recv_count, recv_type, comm),
           .kind = INA_MPI_ALLGATHER, .send = send, .send_count = send_count,
           .send_type = send_type, .recv = recv, .recv_count = recv_count, .recv_type = recv_type)

/* code_of_many: the code to return if the function has several requests and one of them failed. */
static int after_wait(int code, int code_of_many)
{
	if (code != MPI_SUCCESS || failed_code == MPI_SUCCESS)
		return code;
	raise_error(failed_comm, failed_code);
	return code_of_many != MPI_SUCCESS ? code_of_many : failed_code;
}

#define WAIT(name, code_of_many, parameters, arguments)                                            \
	int MPI_##name parameters                                                                  \
	{                                                                                          \
		failed_code = MPI_SUCCESS;                                                         \
		return after_wait(INSIDE(ina_mpi_real.name arguments), code_of_many);              \
	}

WAIT(Wait, MPI_SUCCESS, (MPI_Request * request, MPI_Status *status), (request, status))
WAIT(Test, MPI_SUCCESS, (MPI_Request * request, int *done, MPI_Status *status),
     (request, done, status))
WAIT(Waitany, MPI_SUCCESS, (int count, MPI_Request requests[], int *which, MPI_Status *status),
     (count, requests, which, status))
WAIT(Testany, MPI_SUCCESS,
     (int count, MPI_Request requests[], int *which, int *done, MPI_Status *status),
     (count, requests, which, done, status))
WAIT(Waitall, MPI_ERR_IN_STATUS, (int count, MPI_Request requests[], MPI_Status statuses[]),
     (count, requests, statuses))
WAIT(Testall, MPI_ERR_IN_STATUS,
     (int count, MPI_Request requests[], int *done, MPI_Status statuses[]),
     (count, requests, done, statuses))
WAIT(Waitsome, MPI_ERR_IN_STATUS,
     (int count, MPI_Request requests[], int *done, int which[], MPI_Status statuses[]),
     (count, requests, done, which, statuses))
WAIT(Testsome, MPI_ERR_IN_STATUS,
     (int count, MPI_Request requests[], int *done, int which[], MPI_Status statuses[]),
     (count, requests, done, which, statuses))

static void begin(int provided)
{
	ina_mpi_world_begin(provided);
	if (!ina_mpi_world.unable && !ina_mpi_talk_begin()) {
		fprintf(stderr, "ina-mpi: cannot start a thread\n");
		PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
	}
}

/* A thread of the interposer finishes nonblocking operations and calls MPI. */
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int code;

	(void)required;
	code = ina_mpi_real.Init_thread(argc, argv, MPI_THREAD_MULTIPLE, provided);
	if (code == MPI_SUCCESS)
		begin(*provided);
	return code;
}

int MPI_Init(int *argc, char ***argv)
{
	int provided;

	return MPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

int MPI_Finalize(void)
{
	if (ina_mpi_world.is_open) {
		ina_mpi_counterpart_close_all();
		ina_mpi_report_print();
		ina_mpi_world_end();
	}
	return ina_mpi_real.Finalize();
}

int MPI_Comm_free(MPI_Comm *comm)
{
	ina_mpi_counterpart_close(*comm);
	return ina_mpi_real.Comm_free(comm);
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
	ina_mpi_counterpart_close(*comm);
	return ina_mpi_real.Comm_disconnect(comm);
}
