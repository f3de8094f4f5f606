/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric as a graph with capacities. The nodes are the hosts, by number, then the switches. Cable
 * c is two links, 2c up and 2c + 1 down, so link ^ 1 is the opposite direction.
 */
#ifndef INA_PLANNER_GRAPH_H
#define INA_PLANNER_GRAPH_H

#include "common/topology/topology.h"

enum {
	PLAN_NODES_MAX = TOPOLOGY_HOSTS_MAX + TOPOLOGY_SWITCHES_MAX,
	PLAN_LINKS_MAX = 2 * TOPOLOGY_CABLES_MAX,
	PLAN_WAY_MAX = 2 * TOPOLOGY_LEVELS_MAX, /* links of a path up and then down */
};

#define PLAN_NONE (~0u)

struct plan_switch {
	bool aggregates;
	double processing; /* bits per second it can add, over all inputs; or INFINITY */
	unsigned contexts; /* jobs at the same time */
	double memory;     /* bytes, for all its jobs; or INFINITY */
};

struct plan_graph {
	const struct topology *topology;
	unsigned host_count;
	unsigned node_count;
	unsigned link_count;
	double rates[PLAN_LINKS_MAX]; /* bits per second */
	struct plan_switch switches[TOPOLOGY_SWITCHES_MAX];
	unsigned by_level[PLAN_NODES_MAX]; /* nodes in the order of levels, hosts first */
};

/* Data that travels unchanged from one node to another, first up and then down. */
struct plan_flow {
	unsigned from;
	unsigned to;
	unsigned length;
	unsigned links[PLAN_WAY_MAX];
};

/* Prices of links and switches, in any unit. Every link must cost more than 0. */
struct plan_prices {
	double links[PLAN_LINKS_MAX];
	double inputs[TOPOLOGY_SWITCHES_MAX];   /* for each flow that a switch adds */
	double contexts[TOPOLOGY_SWITCHES_MAX]; /* for a job at a switch */
};

/*
 * A cable has its own link-rate, or else `link_rate`. A switch aggregates unless its `aggregator`
 * is off; its other capacities are those of `any`. The caller keeps the topology for as long as the
 * graph.
 */
void plan_graph_open(struct plan_graph *graph, const struct topology *topology, double link_rate,
                     const struct plan_switch *any);

unsigned plan_link_from(const struct plan_graph *graph, unsigned link);
unsigned plan_link_to(const struct plan_graph *graph, unsigned link);
static inline bool plan_is_switch(const struct plan_graph *graph, unsigned node)
{
	return node >= graph->host_count;
}
/* Writes a name like "host3" or "leaf0". */
void plan_node_name(const struct plan_graph *graph, unsigned node, char name[TOPOLOGY_NAME_BYTES]);

/* Where a path may lead, and what that costs. */
struct plan_ends {
	bool only_up;                    /* and only to the first node at which it may end */
	double costs[PLAN_NODES_MAX];    /* of ending at a node; INFINITY: not allowed */
	double entering[PLAN_NODES_MAX]; /* of reaching a node; INFINITY: not allowed */
};

/*
 * Finds the cheapest path from a node to any of the ends. Returns false if no path
 * leads to one. `cost` may be NULL.
 */
bool plan_find_way(const struct plan_graph *graph, const struct plan_prices *prices,
                   const struct plan_ends *ends, unsigned from, struct plan_flow *way,
                   double *cost);

#endif
