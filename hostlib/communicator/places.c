/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the ranks' positions from the TRACEs, and connects the ranks in an order in which the
 * switches can sum.
 */
#include "places.h"

#include "common/deadline.h"
#include "common/random.h"
#include "hostlib/algorithms/trace.h"

/* The longest wait before the code checks the deadline again. */
#define TICK_MS 1000

/* The action that a rank did not complete, for the text of an agreement. */
#define HEAR "learn where the ranks are"

/* Sends the TRACE, and gets the contents of all ranks' TRACEs. */
static enum ina_status trace(struct ina_comm *comm, int64_t deadline_ms,
                             struct ina_failure *failure)
{
	struct ina_network *network = &comm->network;
	enum ina_status status;
	bool done = false;
	int count;

	ina_lookout_send(&network->lookout);
	ina_network_await_trace(network, comm->settings.options.join_timeout_ms);
	status = ina_trace_share(network, failure);
	while (status == INA_OK) {
		status = ina_trace_advance(network, &done, failure);
		if (status != INA_OK || done)
			return status;
		if (ina_open_failed_elsewhere(&comm->control, failure))
			return failure->status;
		if (ina_now_ms() >= deadline_ms)
			return ina_fail(failure, INA_ERR_TIMEOUT,
			                "did not learn in time where the other ranks are");
		status = ina_completions_wait(&network->completions,
		                              ina_left_ms(deadline_ms, TICK_MS), &count, failure);
	}
	return status;
}

/* Makes fresh aggregated connections with these neighbours. All ranks call it at the same time. */
static enum ina_status reconnect(struct ina_comm *comm, int next, int previous, int64_t deadline_ms,
                                 struct ina_failure *failure)
{
	struct ina_transport *transport = &comm->network.transport;
	uint32_t nothing = 0;
	enum ina_status status;

	ina_network_drop_aggregated(&comm->network);
	ina_transport_set_neighbours(transport, INA_PURPOSE_AGGREGATE, next, previous);
	if (ina_agree_on(&comm->control, "", HEAR, false, &nothing, deadline_ms, failure) != INA_OK)
		return failure->status;
	status = ina_transport_reconnect(transport, INA_PURPOSE_AGGREGATE, &comm->control,
	                                 deadline_ms, failure);
	if (status == INA_OK)
		ina_network_renew_aggregated(&comm->network);
	return status;
}

/* Connects on tree `number` in the order of ranks, ready for a TRACE. */
static enum ina_status go_to_tree(struct ina_comm *comm, unsigned int number, int64_t deadline_ms,
                                  struct ina_failure *failure)
{
	uint32_t nothing = 0;
	enum ina_status status;

	comm->network.transport.tree = number;
	status = reconnect(comm, ina_successor(comm->rank, comm->ranks),
	                   ina_predecessor(comm->rank, comm->ranks), deadline_ms, failure);
	if (status != INA_OK)
		return status;
	if (ina_trace_fits(&comm->network))
		ina_lookout_expect(&comm->network.lookout);
	return ina_agree_on(&comm->control, "", HEAR, false, &nothing, deadline_ms, failure);
}

enum ina_status ina_comm_find_places(struct ina_comm *comm, int64_t deadline_ms,
                                     struct ina_failure *failure)
{
	struct ina_network *network = &comm->network;
	const struct ina_tree *tree = &network->tree;
	unsigned int next;
	enum ina_status status;

	network->spread = (struct ina_spread){0};
	if (!ina_trace_fits(network))
		return INA_OK;
	status = trace(comm, deadline_ms, failure);
	while (status == INA_OK && !comm->settings.keeps_tree &&
	       ina_spread_look(&network->spread, network->transport.tree, tree, &next)) {
		status = go_to_tree(comm, next, deadline_ms, failure);
		if (status == INA_OK)
			status = trace(comm, deadline_ms, failure);
	}
	if (status != INA_OK || ina_tree_keeps_order(tree))
		return status;
	return reconnect(comm, ina_tree_successor(tree, comm->rank),
	                 ina_tree_predecessor(tree, comm->rank), deadline_ms, failure);
}

enum ina_status ina_comm_make_way(struct ina_comm *comm, unsigned int further, int64_t deadline_ms,
                                  struct ina_failure *failure)
{
	struct ina_transport *transport = &comm->network.transport;
	uint64_t job_id = transport->job_id;
	uint32_t nothing = 0;

	/* Otherwise jobs that move at the same time would look and move again. */
	comm->settings.keeps_tree = true;
	/* End the flows, and wait until all ranks have left. */
	ina_network_leave(&comm->network, comm->settings.options.join_timeout_ms);
	if (ina_agree_on(&comm->control, "", "leave", false, &nothing, deadline_ms, failure) !=
	    INA_OK)
		return failure->status;
	/* A switch that is in both trees may not have forgotten the old job yet. */
	transport->job_id = ina_random(&job_id);
	return go_to_tree(comm, (transport->tree + further) % INA_WIRE_TREES, deadline_ms, failure);
}
