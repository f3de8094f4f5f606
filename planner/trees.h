/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways to sum a job's gradients, each of which can carry a share of them.
 *
 * A tree consists of flows: one out of each of the job's hosts, and one out of each switch that
 * aggregates. A flow ends at such a switch or at the root. The sums return on the paths of the
 * gradients. So a rate r of the tree takes r of a flow's links in both directions, and r of a
 * switch's processing for each flow that ends there.
 *
 * The root of an all-reduce's tree is a switch. All switches on the tree aggregate, because each of
 * them takes part in the job that libina opens, so each flow is a single cable. The root of a
 * server's tree is the server; flows may pass switches that do not add them.
 *
 * Without aggregation, all flows go directly to the server. An all-reduce uses the ring, where each
 * flow carries 2(n - 1)/n of the data, in one direction.
 */
#ifndef INA_PLANNER_TREES_H
#define INA_PLANNER_TREES_H

#include <stdint.h>

#include "jobs_file.h"

enum plan_kind { PLAN_TREE, PLAN_DIRECT, PLAN_RING };

struct plan_tree {
	unsigned job;
	enum plan_kind kind;
	unsigned root; /* a node; PLAN_NONE for a ring */
	unsigned flow_count;
	struct plan_flow *flows;
	/* What a rate of 1 takes. */
	double *loads;    /* of each link */
	unsigned *inputs; /* of each switch; if not 0, the switch has a context for the job */
	double most;      /* the tree's rate if it had the fabric to itself, bits per second */
};

/* All trees from which plans choose. */
struct plan_pool {
	const struct plan_graph *graph;
	const struct plan_jobs *jobs;
	struct plan_tree *trees;
	unsigned count;
};

void plan_pool_close(struct plan_pool *pool);

/*
 * Each of the next three functions returns the tree's number in the pool, which may already have
 * had it, or PLAN_NONE if there is no such tree.
 */

/*
 * Grows a tree from `root`, which is a switch or the job's server. Joins the job's hosts in the
 * order `hosts`, each by the cheapest path to the tree that exists by then.
 */
unsigned plan_add_tree(struct plan_pool *pool, unsigned job, unsigned root, const unsigned *hosts,
                       const struct plan_prices *prices);
/*
 * Adds direct flows, or a ring through the hosts in the order of the fabric. Flows take shortest
 * paths, and the least loaded of these. `loads`, indexed by link, has the load of earlier flows;
 * the new flows are added to it.
 */
unsigned plan_add_plain(struct plan_pool *pool, unsigned job, double *loads);
/*
 * The baseline without a plan. For a job with a server, the switch nearest to each host (by count
 * of cables, then by number) adds the host's gradients. From there the sum travels to the server
 * like the flows of plan_add_plain(). `passed` is a tree with the same paths that adds nothing. For
 * an all-reduce, the result is the tree that a job without other jobs takes (docs/protocol.md,
 * Trees), and `passed` is PLAN_NONE.
 */
unsigned plan_add_nearest(struct plan_pool *pool, unsigned job, double *loads, unsigned *passed);

/* The price of a rate of 1. */
double plan_tree_cost(const struct plan_graph *graph, const struct plan_tree *tree,
                      const struct plan_prices *prices);

/* Lists the switches that can be the root of an all-reduce's tree. Returns how many there are. */
unsigned plan_roots(const struct plan_graph *graph, const struct plan_job *job,
                    unsigned roots[TOPOLOGY_SWITCHES_MAX]);

/* Lists a job's hosts in the order of the fabric, in which hosts below a switch are consecutive. */
void plan_order_hosts(const struct plan_graph *graph, const struct plan_job *job,
                      unsigned hosts[TOPOLOGY_HOSTS_MAX]);

#endif
