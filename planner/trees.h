/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways in which a job's gradients can become a sum, each of which may carry a share of them.
 *
 * A tree is flows, one out of each of the job's hosts and out of each switch that aggregates; they
 * end at such a switch or at the root. The sums come back the way that the gradients went, so a
 * rate r of the tree takes r of a flow's links both ways, and r of a switch's processing for each
 * flow that ends there.
 *
 * An all-reduce's tree has a switch as its root and all its switches aggregate, since each of them
 * takes part in what libina opens; its flows are single cables. A server's tree has that host as
 * its root; other flows and unadded gradients may pass a switch.
 *
 * Without a switch: to a server all flows go directly; an all-reduce goes by ring, each flow
 * 2(n - 1)/n of the data one way.
 */
#ifndef INA_PLANNER_TREES_H
#define INA_PLANNER_TREES_H

#include <stdint.h>

#include "jobs.h"

enum plan_kind { PLAN_TREE, PLAN_DIRECT, PLAN_RING };

struct plan_tree {
	unsigned job;
	enum plan_kind kind;
	unsigned root; /* a node; PLAN_NONE: a ring has none */
	unsigned flow_count;
	struct plan_flow *flows;
	/* What a rate of 1 takes. */
	double *loads;    /* by link */
	unsigned *inputs; /* by switch; it has a context for the job where this is not 0 */
	double most;      /* the rate that it has with the fabric to itself, bits a second */
};

/* All trees that a plan chooses from. */
struct plan_pool {
	const struct plan_graph *graph;
	const struct plan_jobs *jobs;
	struct plan_tree *trees;
	unsigned count;
};

void plan_pool_close(struct plan_pool *pool);

/* Each of the next three returns the tree's number in the pool, where it may be already; PLAN_NONE:
 * there is none. */

/*
 * The job's hosts are joined in the order `hosts`, each by the cheapest way to what is there of the
 * tree, whose root is `root`: a switch, or the job's server.
 */
unsigned plan_add_tree(struct plan_pool *pool, unsigned job, unsigned root, const unsigned *hosts,
                       const struct plan_prices *prices);
/*
 * Direct flows, or a ring through the hosts by their place in the fabric. Shortest ways; of these
 * the least loaded, where `loads`, by link, has what is there, and is added to.
 */
unsigned plan_add_plain(struct plan_pool *pool, unsigned job, double *loads);
/*
 * What is done without a plan. A server's job: each host's gradients are added at the switch next
 * to it (by cables, then by number), whence the sum goes to the server as flows of
 * plan_add_plain() do. `passed`: a tree that goes the same ways and adds nothing. An all-reduce's
 * tree is the first one, which a job takes that is alone (docs/protocol.md, Trees), `passed` is
 * PLAN_NONE.
 */
unsigned plan_add_nearest(struct plan_pool *pool, unsigned job, double *loads, unsigned *passed);

/* What a rate of 1 costs. */
double plan_tree_cost(const struct plan_graph *graph, const struct plan_tree *tree,
                      const struct plan_prices *prices);

/* The switches that can be the root of an all-reduce's tree. Returns how many. */
unsigned plan_roots(const struct plan_graph *graph, const struct plan_job *job,
                    unsigned roots[TOPOLOGY_SWITCHES_MAX]);

/* A job's hosts in the order of the fabric: those below each switch side by side. */
void plan_order_hosts(const struct plan_graph *graph, const struct plan_job *job,
                      unsigned hosts[TOPOLOGY_HOSTS_MAX]);

#endif
