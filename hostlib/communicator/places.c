/* SPDX-License-Identifier: Apache-2.0 */
/* From what the TRACEs say to connections that go from switch to switch in order. */
#include "places.h"

enum ina_status ina_comm_find_places(struct ina_comm *comm, const struct ina_roster *roster,
                                     int64_t deadline_ms, struct ina_failure *failure)
{
	struct ina_network *network = &comm->network;
	const struct ina_tree *tree = &network->tree;
	uint32_t nothing = 0;
	enum ina_status status;

	status = ina_network_trace(network, comm->settings.options.join_timeout_ms, deadline_ms,
	                           failure);
	if (status != INA_OK || ina_tree_keeps_order(tree))
		return status;
	ina_network_drop_aggregated(network);
	ina_fabric_set_neighbours(&network->fabric, INA_PURPOSE_AGGREGATE, roster,
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
