/* SPDX-License-Identifier: Apache-2.0 */
/* From what the TRACEs say to connections that go from switch to switch in order. */
#include "places.h"

#include "common/deadline.h"
#include "hostlib/algorithms/trace.h"

/* Between looks at the clock. */
#define TICK_MS 1000

/* Sends the TRACE, and hears what all ranks' have met. */
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
			                "where the other ranks are was not heard in time");
		status = ina_completions_wait(&network->completions,
		                              ina_left_ms(deadline_ms, TICK_MS), &count, failure);
	}
	return status;
}

enum ina_status ina_comm_find_places(struct ina_comm *comm, int64_t deadline_ms,
                                     struct ina_failure *failure)
{
	struct ina_network *network = &comm->network;
	const struct ina_tree *tree = &network->tree;
	uint32_t nothing = 0;
	enum ina_status status = INA_OK;

	if (ina_trace_fits(network))
		status = trace(comm, deadline_ms, failure);
	if (status != INA_OK || ina_tree_keeps_order(tree))
		return status;
	ina_network_drop_aggregated(network);
	ina_fabric_set_neighbours(&network->fabric, INA_PURPOSE_AGGREGATE,
	                          ina_tree_successor(tree, comm->rank),
	                          ina_tree_predecessor(tree, comm->rank));
	if (ina_agree_on(&comm->control, "", "hear where the ranks are", false, &nothing,
	                 deadline_ms, failure) != INA_OK)
		return failure->status;
	status = ina_fabric_reconnect(&network->fabric, INA_PURPOSE_AGGREGATE, &comm->control,
	                              deadline_ms, failure);
	if (status == INA_OK)
		ina_network_renew_aggregated(network);
	return status;
}
