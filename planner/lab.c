/* SPDX-License-Identifier: Apache-2.0 */
/* For all-reduces only, because libina has no server. */
#include "lab.h"

#include <stdio.h>
#include <stdlib.h>

static const double lab_link_rate = 100e9; /* the default of --link-rate */

const struct plan_tree *plan_lab_tree(const struct plan_result *result, unsigned job)
{
	for (unsigned i = 0; i < result->pool.count; i++) {
		const struct plan_tree *tree = &result->pool.trees[i];

		if (tree->job == job && tree->kind == PLAN_TREE && result->single.rates[i] > 0)
			return result->pool.jobs->jobs[job].server == PLAN_NONE ? tree : NULL;
	}
	return NULL;
}

/* Visits the tree depth first; at each switch in the order of ports. */
static void walk(const struct plan_graph *graph, const struct plan_tree *tree, unsigned node,
                 unsigned *hosts, unsigned *count)
{
	if (!plan_is_switch(graph, node)) {
		hosts[(*count)++] = node;
		return;
	}
	const struct topology_switch *of = &graph->topology->switches[node - graph->host_count];

	for (unsigned port = 0; port < of->ports; port++)
		for (unsigned i = 0; i < tree->flow_count; i++)
			if (tree->flows[i].links[0] == 2 * of->cables[port] &&
			    tree->flows[i].to == node)
				walk(graph, tree, tree->flows[i].from, hosts, count);
}

void plan_ranks(const struct plan_result *result, unsigned job, unsigned hosts[TOPOLOGY_HOSTS_MAX])
{
	const struct plan_tree *tree = plan_lab_tree(result, job);
	unsigned count = 0;

	if (tree)
		walk(result->pool.graph, tree, tree->root, hosts, &count);
	else
		plan_order_hosts(result->pool.graph, &result->pool.jobs->jobs[job], hosts);
}

static json_t *make_switch(const struct plan_graph *graph, const struct plan_tree *tree,
                           unsigned node, const unsigned *hosts, unsigned count)
{
	char name[TOPOLOGY_NAME_BYTES];
	json_t *of = json_object(), *list = json_array(), *up = json_array();

	plan_node_name(graph, node, name);
	json_object_set_new(of, "name", json_string(name));
	for (unsigned rank = 0; rank < count; rank++)
		if (graph->topology->host_switch[hosts[rank]] == node - graph->host_count)
			json_array_append_new(list, json_integer(rank));
	for (unsigned i = 0; i < tree->flow_count; i++)
		if (tree->flows[i].from == node) {
			plan_node_name(graph, tree->flows[i].to, name);
			json_array_append_new(up, json_string(name));
		}
	if (json_array_size(list))
		json_object_set(of, "hosts", list);
	if (json_array_size(up))
		json_object_set(of, "up", up);
	json_decref(list);
	json_decref(up);
	return of;
}

json_t *plan_lab_fabric(const struct plan_result *result, unsigned job)
{
	const struct plan_graph *graph = result->pool.graph;
	const struct plan_tree *tree = plan_lab_tree(result, job);
	unsigned hosts[TOPOLOGY_HOSTS_MAX];
	const unsigned count = result->pool.jobs->jobs[job].count;

	if (!tree)
		return NULL;
	json_t *root = json_object(), *switches = json_array(), *cables = json_object();

	plan_ranks(result, job, hosts);
	for (unsigned i = 0; i < graph->topology->switch_count; i++)
		if (tree->inputs[i])
			json_array_append_new(
			        switches,
			        make_switch(graph, tree, graph->host_count + i, hosts, count));
	for (unsigned i = 0; i < tree->flow_count; i++) {
		const struct plan_flow *flow = &tree->flows[i];
		char name[TOPOLOGY_NAME_BYTES + 8];
		unsigned rank = 0;

		if (graph->rates[flow->links[0]] == lab_link_rate)
			continue;
		while (rank < count && hosts[rank] != flow->from)
			rank++;
		if (rank < count)
			snprintf(name, sizeof(name), "host%u", rank);
		else
			snprintf(name, sizeof(name), "%s:up0",
			         graph->topology->switches[flow->from - graph->host_count].name);
		json_object_set_new(cables, name,
		                    json_pack("{s:f}", "link-rate", graph->rates[flow->links[0]]));
	}
	json_object_set_new(root, "switches", switches);
	if (json_object_size(cables))
		json_object_set(root, "cables", cables);
	json_decref(cables);
	return root;
}

bool plan_lab_has_it(const struct plan_result *result, unsigned job)
{
	const struct plan_graph *graph = result->pool.graph;
	const struct plan_tree *tree = plan_lab_tree(result, job);
	const unsigned nearest = result->baselines.nearest[job];
	unsigned hosts[TOPOLOGY_HOSTS_MAX];

	if (!tree || nearest == PLAN_NONE || tree != &result->pool.trees[nearest] ||
	    result->pool.jobs->jobs[job].count != graph->host_count)
		return false;
	plan_ranks(result, job, hosts);
	for (unsigned rank = 0; rank < graph->host_count; rank++)
		if (hosts[rank] != rank)
			return false;
	for (unsigned link = 0; link < graph->link_count; link++)
		if (graph->rates[link] != lab_link_rate)
			return false;
	return true;
}
