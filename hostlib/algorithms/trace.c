/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the tree of switches from the TRACEs of all ranks. */
#include "trace.h"

#include <string.h>

/* The TRACE that a rank receives describes the predecessor's path. */
static struct ina_path *coming_path(const struct ina_network *network)
{
	return &network->tree.paths[network->transport.previous[INA_PURPOSE_AGGREGATE].rank];
}

bool ina_trace_fits(const struct ina_network *network)
{
	return network->innet.connection.limit_bytes >= sizeof(network->tree.paths->slots);
}

/* For each path, one rank has the contents and all others have zeros, so the sums are the paths. */
enum ina_status ina_trace_share(struct ina_network *network, struct ina_failure *failure)
{
	const struct ina_lookout *lookout = &network->lookout;
	struct ina_path *paths = network->tree.paths;
	struct ina_path *path = coming_path(network);
	const struct ina_transfer transfer = {
	        .send = (const uint8_t *)paths,
	        .recv = (uint8_t *)paths,
	        .total_bytes = (size_t)network->tree.ranks * sizeof(*paths),
	        .element_bytes = sizeof(int32_t),
	        .type = INA_INT32,
	        .op = INA_SUM,
	        .number_type = INA_WIRE_INT32,
	        .send_lkey = network->memory.slab_mr->lkey,
	        .recv_lkey = network->memory.slab_mr->lkey,
	};

	memset(paths, 0, transfer.total_bytes);
	if (lookout->has_failed)
		path->lost = INA_PATH_FAILED;
	else if (!ina_lookout_is_over(lookout))
		path->lost = INA_PATH_LATE;
	else
		memcpy(path->slots, lookout->memory->come, sizeof(path->slots));
	return ina_hosts_algorithm.start(&network->hosts, &transfer, failure);
}

enum ina_status ina_trace_advance(struct ina_network *network, bool *done,
                                  struct ina_failure *failure)
{
	const struct ina_algorithm_row *row = &ina_hosts_algorithm;
	struct ina_tree *tree = &network->tree;
	struct ina_stats ignored = {0};
	uint64_t until;
	enum ina_status status = ina_hosts_go_on(&network->hosts, failure);

	*done = status == INA_OK && row->is_done(&network->hosts);
	if (!*done)
		return status;
	row->end(&network->hosts, &ignored, &until);
	ina_tree_make(tree, tree->paths, tree->order, tree->ranks);
	network->innet.place = ina_tree_place(tree, network->transport.rank);
	return INA_OK;
}
