/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls but the collectives: arguments checked, errors remembered. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/deadline.h"
#include "hostlib/communicator/communicator.h"
#include "hostlib/algorithms/tree_draw.h"
#include "hostlib/machine/parallel.h"
#include "plain.h"

int ina_version(void)
{
	return INA_VERSION;
}

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
	ina_comm_init(made);
	made->network.plain = plain;
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
	if (comm->is_parents)
		return comm->failure.status;
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

enum ina_status ina_test(ina_request *request, int *done)
{
	if (!request || !done)
		return INA_ERR_ARGUMENT;
	if (!request->done)
		ina_comm_step(request->comm, 0);
	if (!request->done && request->comm->pollset.fd >= 0)
		ina_comm_arm_pollset(request->comm, request);
	*done = request->done;
	return request->done ? ina_request_take(request) : INA_OK;
}

enum ina_status ina_wait(ina_request *request)
{
	return request ? ina_request_wait(request) : INA_ERR_ARGUMENT;
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
	if (!comm->algorithm->registers)
		return INA_OK;
	return ina_memory_register(&comm->network.memory, memory, bytes, &comm->latest);
}

enum ina_status ina_deregister(ina_comm *comm, const void *memory, size_t bytes)
{
	struct ina_failure failure;
	enum ina_status forgotten;
	enum ina_status status;

	if (!comm)
		return INA_ERR_ARGUMENT;
	if (comm->is_parents) {
		comm->latest = comm->failure;
		return comm->failure.status;
	}
	if (comm->first)
		return ina_fail(&comm->latest, INA_ERR_ARGUMENT,
		                "ina_deregister: an all-reduce is unfinished");
	status = ina_comm_drain(comm, &comm->latest);
	if (status == INA_ERR_TIMEOUT && comm->failure.status == INA_OK)
		return status; /* the device may read it yet */
	forgotten = ina_memory_forget(&comm->network.memory, memory, bytes, &failure);
	if (status == INA_OK && forgotten != INA_OK)
		comm->latest = failure;
	return status == INA_OK ? forgotten : status;
}

void ina_comm_stats(const ina_comm *comm, struct ina_stats *stats, size_t size)
{
	struct ina_stats now = comm->stats;

	now.unknown_peers = comm->control.unknown_peers + comm->network.fabric.unknown_peers;
	memset(stats, 0, size);
	memcpy(stats, &now, size < sizeof(now) ? size : sizeof(now));
}

int ina_comm_explain(const ina_comm *comm, char *text, size_t size)
{
	const struct ina_comm *flat = comm->parallel ? comm->parallel->rail : comm;
	size_t used = 0;

	if (size > 0)
		text[0] = '\0';
	/* The parent's tree is in memory that a child does not have. */
	if (!flat || comm->is_parents)
		return 0;
	if (flat->ranks > 1)
		used = (size_t)ina_tree_draw(&flat->network.tree, text, size);
	return (int)used + snprintf(used < size ? text + used : NULL, used < size ? size - used : 0,
	                            "when opened: %s\n", flat->how);
}

enum ina_status ina_comm_fd(ina_comm *comm, int *fd)
{
	if (!comm || !fd)
		return INA_ERR_ARGUMENT;
	*fd = -1;
	if (comm->failure.status != INA_OK) {
		comm->latest = comm->failure;
		return comm->failure.status;
	}
	return ina_comm_open_pollset(comm, fd);
}

int ina_comm_rank(const ina_comm *comm)
{
	return comm->rank;
}

int ina_comm_ranks(const ina_comm *comm)
{
	return comm->ranks;
}
