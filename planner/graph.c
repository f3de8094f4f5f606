/* SPDX-License-Identifier: Apache-2.0 */
/* Paths go up and then down, so one sweep over the levels in each direction finds the cheapest. */
#include "graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void plan_graph_open(struct plan_graph *graph, const struct topology *topology, double link_rate,
                     const struct plan_switch *any)
{
	unsigned count = 0;

	*graph = (struct plan_graph){
	        .topology = topology,
	        .host_count = topology->host_count,
	        .node_count = topology->host_count + topology->switch_count,
	        .link_count = 2 * topology->cable_count,
	};
	for (unsigned link = 0; link < graph->link_count; link++)
		graph->rates[link] = link_rate;
	for (unsigned i = 0; i < topology->switch_count; i++)
		graph->switches[i] = *any;
	for (unsigned i = 0; i < topology->setting_count; i++) {
		const struct topology_setting *setting = &topology->settings[i];

		if (setting->option.name == BRIDGE_OPTION_LINK_RATE)
			graph->rates[2 * setting->number] = graph->rates[2 * setting->number + 1] =
			        setting->option.real;
		if (setting->option.name == BRIDGE_OPTION_AGGREGATOR)
			graph->switches[setting->number].aggregates =
			        strcmp(setting->option.text, "off") != 0;
	}
	for (unsigned host = 0; host < graph->host_count; host++)
		graph->by_level[count++] = host;
	for (unsigned level = 1; level <= TOPOLOGY_LEVELS_MAX; level++)
		for (unsigned i = 0; i < topology->switch_count; i++)
			if (topology->switches[i].level == level)
				graph->by_level[count++] = graph->host_count + i;
}

static unsigned lower_end(const struct plan_graph *graph, const struct topology_cable *cable)
{
	return cable->has_host ? cable->lower : graph->host_count + cable->lower;
}

unsigned plan_link_from(const struct plan_graph *graph, unsigned link)
{
	const struct topology_cable *cable = &graph->topology->cables[link / 2];

	return link % 2 ? graph->host_count + cable->upper : lower_end(graph, cable);
}

unsigned plan_link_to(const struct plan_graph *graph, unsigned link)
{
	return plan_link_from(graph, link ^ 1);
}

void plan_node_name(const struct plan_graph *graph, unsigned node, char name[TOPOLOGY_NAME_BYTES])
{
	if (plan_is_switch(graph, node))
		strcpy(name, graph->topology->switches[node - graph->host_count].name);
	else
		snprintf(name, TOPOLOGY_NAME_BYTES, "host%u", node);
}

/* The best known path to each node: one that only goes up, and one that already goes down. */
struct search {
	double costs[2][PLAN_NODES_MAX];
	unsigned links[2][PLAN_NODES_MAX]; /* its last link */
};

/* Extends the best path to a link's first node by this link, up or down. */
static void relax(const struct plan_graph *graph, const struct plan_prices *prices,
                  const struct plan_ends *ends, struct search *search, unsigned link)
{
	const unsigned phase = link % 2, from = plan_link_from(graph, link);
	const unsigned to = plan_link_to(graph, link);
	double cost = search->costs[0][from];

	if (phase && search->costs[1][from] < cost)
		cost = search->costs[1][from];
	cost += prices->links[link] + ends->entering[to];
	if (!(cost < search->costs[phase][to]))
		return;
	search->costs[phase][to] = cost;
	search->links[phase][to] = link;
}

static void sweep(const struct plan_graph *graph, const struct plan_prices *prices,
                  const struct plan_ends *ends, unsigned from, struct search *search)
{
	const struct topology *topology = graph->topology;

	for (unsigned node = 0; node < graph->node_count; node++)
		search->costs[0][node] = search->costs[1][node] = INFINITY;
	search->costs[0][from] = 0;
	for (unsigned i = 0; i < graph->node_count; i++) {
		const unsigned node = graph->by_level[i];

		if (!(search->costs[0][node] < INFINITY) ||
		    (ends->only_up && ends->costs[node] < INFINITY))
			continue;
		if (!plan_is_switch(graph, node)) {
			relax(graph, prices, ends, search, 2 * node);
			continue;
		}
		const struct topology_switch *of = &topology->switches[node - graph->host_count];

		for (unsigned port = of->first_uplink; port < of->ports; port++)
			relax(graph, prices, ends, search, 2 * of->cables[port]);
	}
	for (unsigned i = graph->node_count; !ends->only_up && i-- > graph->host_count;) {
		const unsigned node = graph->by_level[i];
		const struct topology_switch *of = &topology->switches[node - graph->host_count];

		if (!(search->costs[0][node] < INFINITY) && !(search->costs[1][node] < INFINITY))
			continue;
		for (unsigned port = 0; port < of->first_uplink; port++)
			relax(graph, prices, ends, search, 2 * of->cables[port] + 1);
	}
}

bool plan_find_way(const struct plan_graph *graph, const struct plan_prices *prices,
                   const struct plan_ends *ends, unsigned from, struct plan_flow *way, double *cost)
{
	struct search search;
	double best = INFINITY;
	unsigned phase = 0;

	sweep(graph, prices, ends, from, &search);
	*way = (struct plan_flow){.from = from};
	for (unsigned node = 0; node < graph->node_count; node++)
		for (unsigned of = 0; of < 2; of++)
			if (node != from && search.costs[of][node] + ends->costs[node] < best) {
				best = search.costs[of][node] + ends->costs[node];
				way->to = node;
				phase = of;
			}
	if (cost)
		*cost = best;
	if (!(best < INFINITY))
		return false;
	/* Follows the path backwards, then reverses it. */
	for (unsigned node = way->to; node != from || phase;) {
		const unsigned link = search.links[phase][node];

		way->links[way->length++] = link;
		node = plan_link_from(graph, link);
		if (phase && search.costs[0][node] <= search.costs[1][node])
			phase = 0;
	}
	for (unsigned i = 0; i < way->length / 2; i++) {
		const unsigned link = way->links[i];

		way->links[i] = way->links[way->length - 1 - i];
		way->links[way->length - 1 - i] = link;
	}
	return true;
}
