/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric as a graph with capacities. Nodes are the hosts by their numbers, then the switches.
 * Cable c is two links, 2c up and 2c + 1 down, so link ^ 1 is the other way.
 */
#ifndef INA_PLANNER_GRAPH_H
#define INA_PLANNER_GRAPH_H

#include "common/topology.h"

enum {
	PLAN_NODES_MAX = TOPOLOGY_HOSTS_MAX + TOPOLOGY_SWITCHES_MAX,
	PLAN_LINKS_MAX = 2 * TOPOLOGY_CABLES_MAX,
	PLAN_WAY_MAX = 2 * TOPOLOGY_LEVELS_MAX, /* links up and then down */
};

#define PLAN_NONE (~0u)

struct plan_switch {
	bool aggregates;
	double processing; /* bits a second that it adds up, over all its inputs; INFINITY: any */
	unsigned contexts; /* jobs at a time */
	double memory;     /* bytes, for all its jobs; INFINITY: any */
};

struct plan_graph {
	const struct topology *topology;
	unsigned host_count;
	unsigned node_count;
	unsigned link_count;
	double rates[PLAN_LINKS_MAX]; /* bits a second */
	struct plan_switch switches[TOPOLOGY_SWITCHES_MAX];
	unsigned by_level[PLAN_NODES_MAX]; /* nodes, the hosts first */
};

/* What goes from one node to another, unchanged on its way: up, then down. */
struct plan_flow {
	unsigned from;
	unsigned to;
	unsigned length;
	unsigned links[PLAN_WAY_MAX];
};

/* What using something costs, in any unit. Every link has to cost more than 0. */
struct plan_prices {
	double links[PLAN_LINKS_MAX];
	double inputs[TOPOLOGY_SWITCHES_MAX];   /* each flow that a switch adds */
	double contexts[TOPOLOGY_SWITCHES_MAX]; /* a job at a switch */
};

/*
 * Cables have their own link-rate, or `link_rate` where they have none; a switch aggregates unless
 * it has `aggregator` off. Its other capacities are those of `any`. The topology is to outlive it.
 */
void plan_graph_open(struct plan_graph *graph, const struct topology *topology, double link_rate,
                     const struct plan_switch *any);

unsigned plan_link_from(const struct plan_graph *graph, unsigned link);
unsigned plan_link_to(const struct plan_graph *graph, unsigned link);
static inline bool plan_is_switch(const struct plan_graph *graph, unsigned node)
{
	return node >= graph->host_count;
}
/* "host3", "leaf0" */
void plan_node_name(const struct plan_graph *graph, unsigned node, char name[TOPOLOGY_NAME_BYTES]);

/* What the search for a way may do. */
struct plan_ends {
	bool only_up;                 /* and no further than to the first node where it may end */
	double costs[PLAN_NODES_MAX]; /* of ending there; INFINITY: it may not */
	double entering[PLAN_NODES_MAX]; /* of passing or reaching that node; INFINITY: it may not
	                                  */
};

/* The cheapest way from a node to any of the ends; false: there is none. `cost` may be NULL. */
bool plan_find_way(const struct plan_graph *graph, const struct plan_prices *prices,
                   const struct plan_ends *ends, unsigned from, struct plan_flow *way,
                   double *cost);

#endif
