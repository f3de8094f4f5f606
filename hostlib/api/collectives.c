/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives: they check arguments and put requests into the queue. */
#include <stdlib.h>

#include "hostlib/elements/number.h"
#include "hostlib/engine/collective.h"
#include "hostlib/engine/group.h"
#include "hostlib/rdma/memory.h"
#include "hostlib/rdma/probe.h"
#include "progress.h"

/* The most bytes of addends for an element: two int64 for an average of int64. */
#define ELEMENT_BYTES_MAX ((size_t)16)

static enum ina_status check_elements(const struct ina_comm *comm,
                                      const struct ina_collective *what,
                                      struct ina_failure *failure)
{
	const char *name = ina_call_name(what->kind);
	bool combines = what->kind != INA_CALL_ALL_GATHER && what->kind != INA_CALL_BROADCAST;

	if (!ina_type_name(what->type))
		return ina_fail(
		        failure, INA_ERR_ARGUMENT,
		        "%s: invalid type %d: use a value of enum ina_type, such as INA_FLOAT32",
		        name, (int)what->type);
	if (combines && !ina_op_name(what->op))
		return ina_fail(
		        failure, INA_ERR_ARGUMENT,
		        "%s: invalid operation %d: use a value of enum ina_op, such as INA_SUM",
		        name, (int)what->op);
	if (what->count > SIZE_MAX / 2 / ELEMENT_BYTES_MAX / (size_t)comm->ranks)
		return ina_fail(failure, INA_ERR_ARGUMENT, "%s: a count of %zu is too large", name,
		                what->count);
	if (what->root < 0 || what->root >= comm->ranks)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "%s: invalid root %d: the ranks are 0 to %d", name, what->root,
		                comm->ranks - 1);
	return INA_OK;
}

/*
 * The library copies elements, and an address of another device, or a hole, would end the process.
 * Short memory, which is always copied, is checked page by page. Of longer memory only the first
 * byte is checked; the device finds holes when the memory is registered.
 */
static size_t looked_at(size_t bytes)
{
	return bytes <= INA_COPIED_BYTES ? bytes : 1;
}

static enum ina_status check_access(struct ina_comm *comm, const struct ina_collective *what,
                                    struct ina_failure *failure)
{
	size_t reads = looked_at(ina_collective_send_bytes(comm, what));
	size_t writes = looked_at(ina_collective_recv_bytes(comm, what));

	if (what->kind == INA_CALL_BROADCAST && comm->rank == what->root &&
	    what->recv == what->send)
		writes = 0;
	if (!ina_may_read(&comm->probed, what->send, reads))
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "%s: send (%p) is not memory that this process can read; copy "
		                "device memory to the host first",
		                ina_call_name(what->kind), what->send);
	if (!ina_may_write(&comm->probed, what->recv, writes))
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "%s: recv (%p) is not memory that this process can write; receive "
		                "into host memory, then copy it to the device",
		                ina_call_name(what->kind), what->recv);
	return INA_OK;
}

/*
 * If send and recv overlap, they must be the same, or the shorter one must be this rank's block of
 * the longer one.
 */
static enum ina_status check_memory(const struct ina_comm *comm, const struct ina_collective *what,
                                    struct ina_failure *failure)
{
	const char *name = ina_call_name(what->kind);
	size_t send_bytes = ina_collective_send_bytes(comm, what);
	size_t recv_bytes = ina_collective_recv_bytes(comm, what);
	uintptr_t send = (uintptr_t)what->send;
	uintptr_t recv = (uintptr_t)what->recv;
	size_t rank = (size_t)comm->rank;

	if ((send_bytes > 0 && !send) || (recv_bytes > 0 && !recv))
		return ina_fail(failure, INA_ERR_ARGUMENT, "%s: %s is NULL", name,
		                send_bytes > 0 && !send ? "send" : "recv");
	if (send_bytes == 0 || recv_bytes == 0 || send >= recv + recv_bytes ||
	    recv >= send + send_bytes)
		return INA_OK;
	if (send_bytes == recv_bytes && send != recv)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "%s: send and recv overlap; they must be identical or disjoint",
		                name);
	if ((send_bytes > recv_bytes && recv != send + rank * recv_bytes) ||
	    (send_bytes < recv_bytes && send != recv + rank * send_bytes))
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "%s: send and recv overlap; they must be disjoint, or one must be "
		                "this rank's block of the other",
		                name);
	return INA_OK;
}

static enum ina_status start_checked(ina_comm *comm, const struct ina_collective *what,
                                     ina_request **request)
{
	if (comm->failure.status != INA_OK) {
		comm->latest = comm->failure;
		return comm->failure.status;
	}
	if (what->kind != INA_CALL_BARRIER &&
	    (check_elements(comm, what, &comm->latest) != INA_OK ||
	     check_memory(comm, what, &comm->latest) != INA_OK ||
	     check_access(comm, what, &comm->latest) != INA_OK))
		return comm->latest.status;
	return ina_request_start(comm, what, request);
}

static enum ina_status start(ina_comm *comm, const struct ina_collective *what,
                             ina_request **request)
{
	enum ina_status status;

	if (request)
		*request = NULL;
	if (!comm || !request)
		return INA_ERR_ARGUMENT;
	ina_enter(comm);
	status = start_checked(comm, what, request);
	ina_end_call(comm);
	ina_progress_wake(comm);
	return status;
}

static bool has_open_group(struct ina_comm *comm)
{
	const struct ina_caller *caller = ina_callers_find(&comm->callers);

	return caller && caller->group.is_open;
}

/*
 * May this thread make a blocking call? This is checked before the call is queued, and no other
 * thread can open a group for this one in between.
 */
static bool may_wait(ina_comm *comm)
{
	enum ina_status status = INA_OK;

	if (!comm)
		return true; /* the call itself reports this */
	ina_enter(comm);
	ina_comm_take_abort(comm);
	if (comm->failure.status == INA_OK)
		status = ina_check_wait(comm, "a collective");
	if (comm->failure.status == INA_OK && has_open_group(comm))
		status = ina_fail(
		        &comm->latest, INA_ERR_ARGUMENT,
		        "a blocking call cannot be part of a group: use its _start form, or "
		        "end the group first");
	ina_leave(comm);
	return status == INA_OK;
}

/* The end of a blocking call, which has started its request. */
static enum ina_status finish(enum ina_status started, ina_request *const *request)
{
	return started == INA_OK ? ina_wait(*request) : started;
}

enum ina_status ina_allreduce_start(ina_comm *comm, const void *send, void *recv, size_t count,
                                    enum ina_type type, enum ina_op op, ina_request **request)
{
	const struct ina_collective what = {.kind = INA_CALL_ALLREDUCE,
	                                    .send = send,
	                                    .recv = recv,
	                                    .count = count,
	                                    .type = type,
	                                    .op = op};

	return start(comm, &what, request);
}

enum ina_status ina_allreduce(ina_comm *comm, const void *send, void *recv, size_t count,
                              enum ina_type type, enum ina_op op)
{
	ina_request *request;

	return may_wait(comm)
	               ? finish(ina_allreduce_start(comm, send, recv, count, type, op, &request),
	                        &request)
	               : INA_ERR_ARGUMENT;
}

enum ina_status ina_reduce_scatter_start(ina_comm *comm, const void *send, void *recv,
                                         size_t recv_count, enum ina_type type, enum ina_op op,
                                         ina_request **request)
{
	const struct ina_collective what = {.kind = INA_CALL_REDUCE_SCATTER,
	                                    .send = send,
	                                    .recv = recv,
	                                    .count = recv_count,
	                                    .type = type,
	                                    .op = op};

	return start(comm, &what, request);
}

enum ina_status ina_reduce_scatter(ina_comm *comm, const void *send, void *recv, size_t recv_count,
                                   enum ina_type type, enum ina_op op)
{
	ina_request *request;

	return may_wait(comm) ? finish(ina_reduce_scatter_start(comm, send, recv, recv_count, type,
	                                                        op, &request),
	                               &request)
	                      : INA_ERR_ARGUMENT;
}

enum ina_status ina_all_gather_start(ina_comm *comm, const void *send, void *recv,
                                     size_t send_count, enum ina_type type, ina_request **request)
{
	const struct ina_collective what = {.kind = INA_CALL_ALL_GATHER,
	                                    .send = send,
	                                    .recv = recv,
	                                    .count = send_count,
	                                    .type = type};

	return start(comm, &what, request);
}

enum ina_status ina_all_gather(ina_comm *comm, const void *send, void *recv, size_t send_count,
                               enum ina_type type)
{
	ina_request *request;

	return may_wait(comm)
	               ? finish(ina_all_gather_start(comm, send, recv, send_count, type, &request),
	                        &request)
	               : INA_ERR_ARGUMENT;
}

enum ina_status ina_broadcast_start(ina_comm *comm, const void *send, void *recv, size_t count,
                                    enum ina_type type, int root, ina_request **request)
{
	const struct ina_collective what = {.kind = INA_CALL_BROADCAST,
	                                    .send = send,
	                                    .recv = recv,
	                                    .count = count,
	                                    .type = type,
	                                    .root = root};

	return start(comm, &what, request);
}

enum ina_status ina_broadcast(ina_comm *comm, const void *send, void *recv, size_t count,
                              enum ina_type type, int root)
{
	ina_request *request;

	return may_wait(comm)
	               ? finish(ina_broadcast_start(comm, send, recv, count, type, root, &request),
	                        &request)
	               : INA_ERR_ARGUMENT;
}

enum ina_status ina_reduce_start(ina_comm *comm, const void *send, void *recv, size_t count,
                                 enum ina_type type, enum ina_op op, int root,
                                 ina_request **request)
{
	const struct ina_collective what = {.kind = INA_CALL_REDUCE,
	                                    .send = send,
	                                    .recv = recv,
	                                    .count = count,
	                                    .type = type,
	                                    .op = op,
	                                    .root = root};

	return start(comm, &what, request);
}

enum ina_status ina_reduce(ina_comm *comm, const void *send, void *recv, size_t count,
                           enum ina_type type, enum ina_op op, int root)
{
	ina_request *request;

	return may_wait(comm)
	               ? finish(ina_reduce_start(comm, send, recv, count, type, op, root, &request),
	                        &request)
	               : INA_ERR_ARGUMENT;
}

enum ina_status ina_barrier_start(ina_comm *comm, ina_request **request)
{
	const struct ina_collective what = {.kind = INA_CALL_BARRIER};

	return start(comm, &what, request);
}

enum ina_status ina_barrier(ina_comm *comm)
{
	ina_request *request;

	return may_wait(comm) ? finish(ina_barrier_start(comm, &request), &request)
	                      : INA_ERR_ARGUMENT;
}

enum ina_status ina_group_start(ina_comm *comm)
{
	enum ina_status status = INA_OK;
	struct ina_caller *caller;

	if (!comm)
		return INA_ERR_ARGUMENT;
	ina_enter(comm);
	caller = ina_callers_get(&comm->callers);
	if (!caller)
		status = ina_fail(&comm->latest, INA_ERR_MEMORY, "no memory for a group");
	else if (caller->group.is_open)
		status = ina_fail(&comm->latest, INA_ERR_ARGUMENT,
		                  "ina_group_start: the previous group has not been ended");
	else
		caller->group.is_open = true;
	ina_leave(comm);
	return status;
}

enum ina_status ina_group_end(ina_comm *comm)
{
	enum ina_status status;

	if (!comm)
		return INA_ERR_ARGUMENT;
	ina_enter(comm);
	status = has_open_group(comm)
	                 ? ina_group_put(comm, &ina_callers_find(&comm->callers)->group)
	                 : ina_fail(&comm->latest, INA_ERR_ARGUMENT,
	                            "ina_group_end: no group has been started by this thread");
	ina_end_call(comm);
	ina_progress_wake(comm);
	return status;
}
