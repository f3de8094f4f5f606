/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public calls, except opening, collectives and statistics: they check arguments and store
 * errors.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostlib/channels/strands.h"
#include "hostlib/communicator/communicator.h"
#include "opening.h"
#include "progress.h"

int ina_version(void)
{
	return INA_VERSION;
}

enum ina_status ina_close(ina_comm *comm)
{
	struct ina_failure failure = {INA_OK, ""};

	if (!comm)
		return INA_OK;
	if (comm->opening)
		ina_opening_stop(comm);
	ina_enter(comm);
	failure.status = comm->is_over && !comm->opening ? comm->failure.status
	                                                 : ina_check_wait(comm, "ina_close");
	ina_leave(comm);
	if (failure.status != INA_OK)
		return failure.status;
	if (comm->opening) {
		ina_comm_free(comm);
		return INA_OK;
	}
	ina_progress_stop(comm);
	/*
	 * There are unfinished requests: the end of the control connections informs the other
	 * ranks.
	 */
	if (comm->first || ina_callers_have_grouped(&comm->callers))
		ina_fail(&comm->failure, INA_ERR_ARGUMENT,
		         "the communicator was closed with unfinished requests");
	ina_comm_close(comm, &failure);
	ina_comm_free(comm);
	return failure.status;
}

void ina_abort(ina_comm *comm, const char *why)
{
	if (!comm)
		return;
	ina_abort_ask(&comm->abort, why);
	if (atomic_load(&comm->abort.wakes))
		ina_progress_wake(comm);
}

const char *ina_error(const ina_comm *comm)
{
	/* The text that is kept for the thread is not a part of the communicator's state. */
	struct ina_comm *keeper = (struct ina_comm *)comm;
	struct ina_caller *caller;

	if (!comm)
		return "no communicator: comm is NULL";
	ina_enter(comm);
	caller = ina_callers_get(&keeper->callers);
	if (caller)
		memcpy(caller->error, comm->latest.text, sizeof(caller->error));
	ina_leave(comm);
	return caller ? caller->error : "no memory for the text of the error";
}

enum ina_status ina_test(ina_request *request, int *done)
{
	enum ina_status status = INA_OK;
	struct ina_comm *comm;

	if (!request || !done)
		return INA_ERR_ARGUMENT;
	comm = request->comm;
	if (comm->opening)
		return ina_opening_test(comm, done);
	ina_enter(comm);
	if (!request->done && !comm->progress)
		ina_comm_step(comm, 0);
	if (!request->done && comm->pollset.fd >= 0)
		ina_comm_arm_pollset(comm, request);
	*done = request->done;
	if (*done)
		status = ina_request_take(request);
	ina_end_call(comm);
	return status;
}

enum ina_status ina_wait(ina_request *request)
{
	struct ina_comm *comm;
	enum ina_status status;

	if (!request)
		return INA_ERR_ARGUMENT;
	comm = request->comm;
	if (comm->opening)
		return ina_opening_take(comm);
	ina_enter(comm);
	status = ina_check_wait(comm, "ina_wait");
	if (status == INA_OK && request->is_grouped) {
		status = ina_fail(&comm->latest, INA_ERR_ARGUMENT,
		                  "ina_wait: the request's group has not been ended");
	} else if (status == INA_OK) {
		ina_progress_await(request);
		while (!request->done) {
			ina_comm_step(comm, INA_LOOK_MS);
			ina_tell(comm);
		}
		status = ina_request_take(request);
	}
	ina_end_call(comm);
	return status;
}

static enum ina_status register_memory(ina_comm *comm, void *memory, size_t bytes)
{
	if (!memory || bytes == 0)
		return ina_fail(&comm->latest, INA_ERR_ARGUMENT,
		                "ina_register: the memory is NULL or has 0 bytes");
	if (comm->failure.status != INA_OK) {
		comm->latest = comm->failure;
		return comm->failure.status;
	}
	return ina_strands_register(comm, memory, bytes, &comm->latest);
}

enum ina_status ina_register(ina_comm *comm, void *memory, size_t bytes)
{
	enum ina_status status;

	if (!comm)
		return INA_ERR_ARGUMENT;
	ina_enter(comm);
	status = register_memory(comm, memory, bytes);
	ina_end_call(comm);
	return status;
}

static enum ina_status deregister_memory(ina_comm *comm, const void *memory, size_t bytes)
{
	if (comm->is_over) {
		comm->latest = comm->failure;
		return comm->failure.status;
	}
	if (ina_check_wait(comm, "ina_deregister") != INA_OK)
		return comm->latest.status;
	return ina_strands_forget(comm, memory, bytes, &comm->latest);
}

enum ina_status ina_deregister(ina_comm *comm, const void *memory, size_t bytes)
{
	enum ina_status status;

	if (!comm)
		return INA_ERR_ARGUMENT;
	ina_enter(comm);
	status = deregister_memory(comm, memory, bytes);
	ina_end_call(comm);
	return status;
}

static enum ina_status open_pollset(ina_comm *comm, int *fd)
{
	if (comm->settings.options.progress_thread)
		return ina_fail(
		        &comm->latest, INA_ERR_ARGUMENT,
		        "ina_comm_fd: not available with progress_thread, which polls instead");
	if (comm->is_opening)
		return ina_opening_open_pollset(comm, fd);
	if (comm->failure.status != INA_OK) {
		comm->latest = comm->failure;
		return comm->failure.status;
	}
	return ina_comm_open_pollset(comm, fd);
}

enum ina_status ina_comm_fd(ina_comm *comm, int *fd)
{
	enum ina_status status;

	if (fd)
		*fd = -1;
	if (!comm || !fd)
		return INA_ERR_ARGUMENT;
	ina_enter(comm);
	status = open_pollset(comm, fd);
	ina_leave(comm);
	return status;
}

int ina_comm_rank(const ina_comm *comm)
{
	return comm ? comm->rank : -1;
}

int ina_comm_ranks(const ina_comm *comm)
{
	return comm ? comm->ranks : -1;
}
