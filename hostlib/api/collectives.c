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

	if (!ina_type_name(what->type))
		return ina_fail(
		        failure, INA_ERR_ARGUMENT,
		        "%s: invalid type %d: use a value of enum ina_type, such as INA_FLOAT32",
		        name, (int)what->type);
	if (ina_call_row(what->kind)->combines && !ina_op_name(what->op))
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
	const struct ina_call_row *row = ina_call_row(what->kind);
	size_t reads = looked_at(ina_collective_send_bytes(comm, what));
	size_t writes = looked_at(ina_collective_recv_bytes(comm, what));

	/* In place, a broadcast only reads the root's memory. */
	if (row->send == INA_AT_ROOT && comm->rank == what->root && what->recv == what->send)
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
	if (ina_call_has_elements(what->kind) &&
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

/* The parameters of the calls by their arguments, and the fields that these set. */
#define PARAMETERS_NONE ina_comm *comm
#define PARAMETERS_TYPE                                                                            \
	PARAMETERS_NONE, const void *send, void *recv, size_t count, enum ina_type type
#define PARAMETERS_TYPE_ROOT    PARAMETERS_TYPE, int root
#define PARAMETERS_TYPE_OP      PARAMETERS_TYPE, enum ina_op op
#define PARAMETERS_TYPE_OP_ROOT PARAMETERS_TYPE_OP, int root

#define FIELDS_NONE
#define FIELDS_TYPE         .send = send, .recv = recv, .count = count, .type = type
#define FIELDS_TYPE_ROOT    FIELDS_TYPE, .root = root
#define FIELDS_TYPE_OP      FIELDS_TYPE, .op = op
#define FIELDS_TYPE_OP_ROOT FIELDS_TYPE_OP, .root = root

/* Both calls of each collective; for an all-reduce, ina_allreduce_start() and ina_allreduce(). */
#define CALLS(kind_, call, name, title, send_, recv_, combines, arguments, half)                   \
	enum ina_status ina_##call##_start(PARAMETERS_##arguments, ina_request **request)          \
	{                                                                                          \
		const struct ina_collective what = {.kind = INA_CALL_##kind_, FIELDS_##arguments}; \
                                                                                                   \
		return start(comm, &what, request);                                                \
	}                                                                                          \
                                                                                                   \
	enum ina_status ina_##call(PARAMETERS_##arguments)                                         \
	{                                                                                          \
		ina_request *request;                                                              \
                                                                                                   \
		if (!may_wait(comm))                                                               \
			return INA_ERR_ARGUMENT;                                                   \
		return finish(ina_##call##_start(INA_ARGUMENTS_##arguments, &request), &request);  \
	}
INA_COLLECTIVES(CALLS)

enum ina_status ina_group_start(ina_comm *comm)
{
	enum ina_status status = INA_OK;
	struct ina_caller *caller;

	if (!comm)
		return INA_ERR_ARGUMENT;
	ina_enter(comm);
	caller = ina_callers_get(&comm->callers);
	if (comm->is_over)
		status = ina_fail(&comm->latest, comm->failure.status, "%s", comm->failure.text);
	else if (!caller)
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
