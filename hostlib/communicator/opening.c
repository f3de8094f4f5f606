/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a communicator up to the point where its ranks have met, and then lets them connect. */
#include "opening.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fork.h"
#include "hostlib/algorithms/alone.h"
#include "hostlib/bootstrap/meeting.h"
#include "hostlib/bootstrap/mesh.h"
#include "hostlib/rdma/device.h"

static void find_machines(struct ina_comm *comm, struct ina_met *met)
{
	bool flat = comm->settings.options.schedule == INA_SCHEDULE_FLAT;
	uint64_t hosts[INA_MAX_RANKS];

	/*
	 * With the flat schedule no rank has reported its machine, so each rank counts as a
	 * machine.
	 */
	for (int r = 0; r < comm->ranks; r++) {
		const struct ina_endpoint *endpoint = &met->roster.endpoints[r];

		hosts[r] = (uint64_t)r;
		if (!flat) {
			hosts[r] = 0;
			memcpy(&hosts[r], endpoint->host, sizeof(endpoint->host));
		}
	}
	ina_layout_make(&met->layout, met->where, hosts, comm->ranks, comm->rank,
	                comm->settings.options.schedule);
	comm->stats.machines = (unsigned int)met->layout.machines;
	comm->stats.local_ranks = (unsigned int)met->layout.locals;
}

/* Ranks that are all on one machine share memory, and need no device. */
static bool may_lack_a_device(const struct ina_comm *comm)
{
	const struct ina_settings *settings = &comm->settings;

	return settings->options.schedule != INA_SCHEDULE_FLAT && !settings->device[0] &&
	       settings->bind.sin_addr.s_addr == 0 && comm->network.transport.local.address != 0 &&
	       !ina_device_is_any();
}

/* Lets the ranks meet, and finds out which ranks share a machine. */
static enum ina_status meet(struct ina_comm *comm, struct ina_met *met, struct ina_failure *failure)
{
	struct ina_endpoint *local = &comm->network.transport.local;
	struct ina_failure own = {INA_OK, ""};
	uint64_t host = 0;
	/* a child of fork() cannot be a rank of the job */
	enum ina_status status = ina_fork_check(&own);

	met->listener = -1;
	ina_control_init(&comm->control, comm->rank, comm->ranks);
	if (status != INA_OK) {
		*failure = own;
		return status;
	}
	/* A failure is reported in the meeting, so that no rank waits without reason. */
	if (failure->status == INA_OK)
		ina_transport_open(&comm->network.transport, &comm->settings, failure);
	if (failure->status == INA_ERR_DEVICE && may_lack_a_device(comm))
		*failure = (struct ina_failure){INA_OK, ""};
	if (failure->status == INA_OK && comm->settings.options.schedule != INA_SCHEDULE_FLAT)
		ina_layout_identity(&host, failure);
	memcpy(local->host, &host, sizeof(local->host));
	if (failure->status == INA_OK)
		ina_mesh_listen(&met->listener, &local->tcp_port, &comm->settings.ports, failure);
	if (failure->status != INA_OK)
		ina_warn(&comm->log, "cannot take part: %s", failure->text);
	status = ina_meet(&comm->control, &comm->settings, local, met->listener,
	                  comm->settings.deadline_ms, &met->roster, failure);
	if (status == INA_OK)
		find_machines(comm, met);
	else if (met->listener >= 0)
		close(met->listener);
	return status;
}

void ina_comm_cannot_open(const struct ina_settings *settings, struct ina_failure *failure)
{
	const struct ina_options *options = &settings->options;
	const struct ina_endpoint nowhere = {0};
	struct ina_failure ignored;
	struct ina_control control;
	struct ina_roster roster;

	if (!settings->can_meet || options->ranks == 1 || ina_fork_check(&ignored) != INA_OK)
		return;
	ina_control_init(&control, options->rank, options->ranks);
	ina_meet(&control, settings, &nowhere, -1, settings->deadline_ms, &roster, failure);
	ina_control_close(&control);
}

enum ina_status ina_comm_open_by(struct ina_comm *comm, ina_connect *connect,
                                 struct ina_failure *failure)
{
	struct ina_met met;
	struct ina_failure unlogged = {INA_OK, ""};
	enum ina_status status;

	/* Each rank may be a window ahead of its predecessor, all the way around the ring. */
	if (comm->network.plain)
		comm->settings.receives *= (unsigned int)comm->ranks;
	if (comm->ranks == 1 && comm->rank != 0)
		return ina_fail(failure, INA_ERR_ARGUMENT, "rank %d of 1: the only rank is 0",
		                comm->rank);
	ina_log_open(&comm->log, &comm->settings.options, comm->settings.variables.log_level,
	             comm->settings.log_file, &unlogged);
	if (failure->status == INA_OK)
		*failure = unlogged;
	if (comm->network.plain) {
		comm->settings.options.schedule = INA_SCHEDULE_FLAT;
		comm->settings.options.channels = 1;
	}
	comm->stats.machines = comm->stats.local_ranks = 1;
	if (comm->ranks > 1) {
		status = meet(comm, &met, failure);
		if (status == INA_OK)
			status = connect(comm, &met, failure);
		comm->control.stop = NULL;
		if (status == INA_OK)
			ina_fork_watch(comm);
		return status;
	}
	if (failure->status != INA_OK)
		return failure->status;
	ina_comm_use(comm, &ina_alone_algorithm, NULL);
	comm->stats.algorithm = INA_ALGORITHM_RING;
	ina_fork_watch(comm);
	snprintf(comm->how, sizeof(comm->how), "alone: sums are copies");
	ina_log(&comm->log, "%s", comm->how);
	return INA_OK;
}
