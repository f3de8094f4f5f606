/* SPDX-License-Identifier: Apache-2.0 */
/* From a TRACE of each rank to the tree of switches. */
#include "trace.h"

#include <string.h>

/* From `from` into `to`, both in the slab. */
static struct ina_transfer slab_transfer(const struct ina_network *network, const void *from,
                                         void *to, size_t bytes)
{
	return (struct ina_transfer){
	        .send = from,
	        .recv = to,
	        .total_bytes = bytes,
	        .element_bytes = sizeof(int32_t),
	        .type = INA_INT32,
	        .op = INA_SUM,
	        .number_type = INA_WIRE_INT32,
	        .send_lkey = network->memory.slab_mr->lkey,
	        .recv_lkey = network->memory.slab_mr->lkey,
	};
}

/* The path that comes is the predecessor's. */
static struct ina_path *coming_path(const struct ina_network *network)
{
	return &network->tree.paths[network->fabric.previous[INA_PURPOSE_AGGREGATE].rank];
}

bool ina_trace_fits(const struct ina_network *network)
{
	return network->innet.connection.limit_bytes >= sizeof(network->tree.paths->slots);
}

enum ina_status ina_trace_expect(struct ina_network *network, struct ina_failure *failure)
{
	struct ina_tree *tree = &network->tree;
	struct ina_path *path = coming_path(network);
	const struct ina_transfer transfer = slab_transfer(
	        network, tree->paths[network->fabric.rank].slots, path->slots, sizeof(path->slots));

	memset(tree->paths, 0, (size_t)tree->ranks * sizeof(*tree->paths));
	ina_tree_make(tree, tree->paths, tree->order, tree->ranks);
	if (!ina_trace_fits(network))
		return INA_OK;
	ina_innet_start(&network->innet, INA_WIRE_TRACE, 0, &transfer);
	return ina_innet_expect(&network->innet, failure);
}

/* Each path is one rank's to tell, and zeros at all others: the sums are the paths. */
enum ina_status ina_trace_share(struct ina_network *network, bool came, struct ina_failure *failure)
{
	struct ina_path *paths = network->tree.paths;
	const struct ina_transfer transfer =
	        slab_transfer(network, paths, paths, (size_t)network->tree.ranks * sizeof(*paths));

	coming_path(network)->lost = !came;
	/* As new again: the JOIN is its first message. */
	if (came)
		ina_innet_reset(&network->innet);
	ina_innet_stop(&network->innet);
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
	network->innet.place = ina_tree_place(tree, network->fabric.rank);
	return INA_OK;
}
