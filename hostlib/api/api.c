/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls: arguments checked, errors remembered. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/deadline.h"
#include "hostlib/engine/comm.h"
#include "hostlib/elements/number.h"
#include "hostlib/machine/parallel.h"
#include "plain.h"

static enum ina_status open_any(const struct ina_options *options, bool plain, ina_comm **comm,
                                char *why, size_t why_size)
{
	struct ina_failure failure = {INA_OK, ""};
	struct ina_failure ignored;
	struct ina_comm *made = NULL;

	if (!comm) {
		ina_fail(&failure, INA_ERR_ARGUMENT, "ina_open: comm is NULL");
		goto out_why;
	}
	*comm = NULL;
	made = calloc(1, sizeof(*made));
	if (!made) {
		ina_fail(&failure, INA_ERR_MEMORY, "no memory for a communicator");
		goto out_why;
	}
	made->plain = plain;
	ina_pollset_init(&made->pollset);
	if (ina_settings_make(&made->settings, options, &failure) == INA_OK &&
	    ina_comm_open(made, &failure) == INA_OK) {
		*comm = made;
		goto out_why;
	}
	made->failure = failure; /* so that closing waits for nobody */
	ina_comm_close(made, &ignored);
	free(made);
out_why:
	if (why && why_size > 0)
		snprintf(why, why_size, "%s", failure.text);
	return failure.status;
}

enum ina_status ina_open(const struct ina_options *options, ina_comm **comm, char *why,
                         size_t why_size)
{
	return open_any(options, false, comm, why, why_size);
}

enum ina_status ina_plain_open(const struct ina_options *options, ina_comm **comm, char *why,
                               size_t why_size)
{
	return open_any(options, true, comm, why, why_size);
}

enum ina_status ina_close(ina_comm *comm)
{
	struct ina_failure failure = {INA_OK, ""};

	if (!comm)
		return INA_OK;
	if (comm->first) /* abandoned: the end of the control connection tells the others */
		ina_fail(&comm->failure, INA_ERR_ARGUMENT, "closed with requests unfinished");
	ina_comm_close(comm, &failure);
	free(comm);
	return failure.status;
}

const char *ina_error(const ina_comm *comm)
{
	return comm ? comm->latest.text : "";
}

static enum ina_status check_call(ina_comm *comm, const void *send, const void *recv, size_t count,
                                  enum ina_type type, enum ina_op op)
{
	struct ina_failure *latest = &comm->latest;
	uintptr_t from = (uintptr_t)send;
	uintptr_t to = (uintptr_t)recv;
	size_t element_bytes = ina_type_bytes((int)type);

	if (comm->failure.status != INA_OK) {
		*latest = comm->failure;
		return latest->status;
	}
	if (element_bytes == 0)
		return ina_fail(latest, INA_ERR_ARGUMENT,
		                "all-reduce: there is no type %d: use INA_INT32, INA_FLOAT32, "
		                "INA_BFLOAT16 or INA_FLOAT16",
		                (int)type);
	if (!ina_op_name((int)op))
		return ina_fail(
		        latest, INA_ERR_ARGUMENT,
		        "all-reduce: there is no operation %d: use INA_SUM, INA_MAX or INA_MIN",
		        (int)op);
	if (count > SIZE_MAX / 2 / element_bytes)
		return ina_fail(latest, INA_ERR_ARGUMENT, "all-reduce: a count of %zu is too large",
		                count);
	if (count == 0)
		return INA_OK;
	if (!send || !recv)
		return ina_fail(latest, INA_ERR_ARGUMENT, "all-reduce: %s is NULL",
		                send ? "recv" : "send");
	if (from != to && from < to + count * element_bytes && to < from + count * element_bytes)
		return ina_fail(
		        latest, INA_ERR_ARGUMENT,
		        "all-reduce: send and recv overlap; they must be the same or apart");
	return INA_OK;
}

enum ina_status ina_allreduce_start(ina_comm *comm, const void *send, void *recv, size_t count,
                                    enum ina_type type, enum ina_op op, ina_request **request)
{
	struct ina_request *made;
	enum ina_status status;

	if (request)
		*request = NULL;
	if (!comm || !request)
		return INA_ERR_ARGUMENT;
	status = check_call(comm, send, recv, count, type, op);
	if (status != INA_OK)
		return status;
	made = comm->spare_requests;
	if (made)
		comm->spare_requests = made->next;
	else
		made = malloc(sizeof(*made));
	if (!made)
		return ina_fail(&comm->latest, INA_ERR_MEMORY, "no memory for a request");
	*made = (struct ina_request){
	        .comm = comm, .send = send, .recv = recv, .count = count, .type = type, .op = op};
	if (comm->last)
		comm->last->next = made;
	else
		comm->first = made;
	comm->last = made;
	*request = made;
	return INA_OK;
}

static enum ina_status take_result(ina_request *request)
{
	struct ina_comm *comm = request->comm;
	enum ina_status status = request->status;

	if (status != INA_OK)
		comm->latest = comm->failure;
	request->next = comm->spare_requests;
	comm->spare_requests = request;
	return status;
}

enum ina_status ina_test(ina_request *request, int *done)
{
	if (!request || !done)
		return INA_ERR_ARGUMENT;
	if (!request->done)
		ina_collective_step(request->comm, 0);
	if (!request->done && request->comm->pollset.fd >= 0) {
		/* Once armed, nothing may be left that nobody would tell of. */
		ina_pollset_arm(&request->comm->pollset, request->comm);
		do {
			ina_collective_step(request->comm, 0);
		} while (!request->done && request->comm->last_completions > 0);
	}
	*done = request->done;
	return request->done ? take_result(request) : INA_OK;
}

enum ina_status ina_wait(ina_request *request)
{
	if (!request)
		return INA_ERR_ARGUMENT;
	while (!request->done)
		ina_collective_step(request->comm, INA_STALL_MS);
	return take_result(request);
}

enum ina_status ina_allreduce(ina_comm *comm, const void *send, void *recv, size_t count,
                              enum ina_type type, enum ina_op op)
{
	ina_request *request;
	enum ina_status status = ina_allreduce_start(comm, send, recv, count, type, op, &request);

	return status == INA_OK ? ina_wait(request) : status;
}

enum ina_status ina_register(ina_comm *comm, void *memory, size_t bytes)
{
	if (!comm)
		return INA_ERR_ARGUMENT;
	if (!memory || bytes == 0)
		return ina_fail(&comm->latest, INA_ERR_ARGUMENT, "ina_register: no memory given");
	if (comm->failure.status != INA_OK) {
		comm->latest = comm->failure;
		return comm->failure.status;
	}
	/* On rails only shared memory is sent from. */
	if (comm->ranks == 1 || comm->parallel)
		return INA_OK;
	return ina_memory_register(&comm->memory, memory, bytes, &comm->latest);
}

enum ina_status ina_deregister(ina_comm *comm, const void *memory, size_t bytes)
{
	if (!comm)
		return INA_ERR_ARGUMENT;
	if (comm->first)
		return ina_fail(&comm->latest, INA_ERR_ARGUMENT,
		                "ina_deregister: an all-reduce is unfinished");
	enum ina_status status = ina_collective_drain(comm, &comm->latest);

	if (status == INA_OK)
		ina_memory_forget(&comm->memory, memory, bytes);
	return status;
}

void ina_comm_stats(const ina_comm *comm, struct ina_stats *stats, size_t size)
{
	struct ina_stats now = comm->stats;

	now.unknown_peers = comm->control.unknown_peers + comm->fabric.unknown_peers;
	memset(stats, 0, size);
	memcpy(stats, &now, size < sizeof(now) ? size : sizeof(now));
}

enum ina_status ina_comm_fd(ina_comm *comm, int *fd)
{
	enum ina_status status = INA_OK;

	if (!comm || !fd)
		return INA_ERR_ARGUMENT;
	*fd = -1;
	if (comm->failure.status != INA_OK) {
		comm->latest = comm->failure;
		return comm->failure.status;
	}
	if (comm->parallel)
		return ina_parallel_fd(comm, fd);
	if (comm->pollset.fd < 0)
		status = ina_pollset_open(&comm->pollset, comm, &comm->latest);
	*fd = comm->pollset.fd;
	return status;
}

int ina_comm_rank(const ina_comm *comm)
{
	return comm->rank;
}

int ina_comm_ranks(const ina_comm *comm)
{
	return comm->ranks;
}
