/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees grow host by host, as Takahashi and Matsuyama (1980) grow Steiner trees: each host takes
 * the cheapest path to the tree that exists already. The result depends on the prices and on the
 * order.
 */
#include "trees.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/topology/routes.h"

/* A tree that is being built. */
struct draft {
	const struct plan_graph *graph;
	unsigned count;
	struct plan_flow flows[2 * PLAN_NODES_MAX];
	bool aggregates[PLAN_NODES_MAX];
	unsigned passing[PLAN_NODES_MAX]; /* 1 + the first flow that passes the node, or 0 */
	struct plan_ends ends;
	struct plan_prices prices;
};

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		abort();
	return memory;
}

static void free_tree(struct plan_tree *tree)
{
	free(tree->flows);
	free(tree->loads);
	free(tree->inputs);
}

void plan_pool_close(struct plan_pool *pool)
{
	for (unsigned i = 0; i < pool->count; i++)
		free_tree(&pool->trees[i]);
	free(pool->trees);
}

static struct draft *open_draft(const struct plan_graph *graph)
{
	struct draft *draft = allocate(1, sizeof(*draft));

	draft->graph = graph;
	for (unsigned node = 0; node < graph->node_count; node++)
		draft->ends.costs[node] = INFINITY;
	return draft;
}

static void append(struct draft *draft, const struct plan_flow *flow)
{
	draft->flows[draft->count++] = *flow;
	for (unsigned i = 0; i + 1 < flow->length; i++) {
		const unsigned node = plan_link_to(draft->graph, flow->links[i]);

		if (!draft->passing[node])
			draft->passing[node] = draft->count;
	}
}

/*
 * Computes what a rate of 1 takes, which is `load` on each link of a flow, and then the rate that
 * the scarcest resource allows.
 */
static void work_out(const struct plan_graph *graph, struct plan_tree *tree, double load)
{
	tree->loads = allocate(graph->link_count, sizeof(*tree->loads));
	tree->inputs = allocate(graph->topology->switch_count, sizeof(*tree->inputs));
	tree->most = INFINITY;
	for (unsigned i = 0; i < tree->flow_count; i++) {
		const struct plan_flow *flow = &tree->flows[i];

		for (unsigned k = 0; k < flow->length; k++) {
			tree->loads[flow->links[k]] += load;
			if (tree->kind != PLAN_RING)
				tree->loads[flow->links[k] ^ 1] += load;
		}
		if (plan_is_switch(graph, flow->to))
			tree->inputs[flow->to - graph->host_count]++;
	}
	for (unsigned link = 0; link < graph->link_count; link++)
		if (tree->loads[link] > 0)
			tree->most = fmin(tree->most, graph->rates[link] / tree->loads[link]);
	for (unsigned i = 0; i < graph->topology->switch_count; i++)
		if (tree->inputs[i])
			tree->most =
			        fmin(tree->most, graph->switches[i].processing / tree->inputs[i]);
}

/* Two trees of a job and kind are the same if they use the same resources. */
static bool is_same(const struct plan_graph *graph, const struct plan_tree *a,
                    const struct plan_tree *b)
{
	return a->job == b->job && a->kind == b->kind &&
	       !memcmp(a->loads, b->loads, graph->link_count * sizeof(*a->loads)) &&
	       !memcmp(a->inputs, b->inputs, graph->topology->switch_count * sizeof(*a->inputs));
}

static unsigned add(struct plan_pool *pool, const struct draft *draft, unsigned job,
                    enum plan_kind kind, unsigned root)
{
	const unsigned ranks = pool->jobs->jobs[job].count;
	struct plan_tree tree = {job, kind, root, draft->count, NULL, NULL, NULL, 0};

	tree.flows = allocate(draft->count, sizeof(*tree.flows));
	memcpy(tree.flows, draft->flows, draft->count * sizeof(*tree.flows));
	work_out(pool->graph, &tree, kind == PLAN_RING ? 2.0 * (ranks - 1) / ranks : 1);
	for (unsigned i = 0; i < pool->count; i++)
		if (is_same(pool->graph, &pool->trees[i], &tree)) {
			free_tree(&tree);
			return i;
		}
	struct plan_tree *more = reallocarray(pool->trees, pool->count + 1, sizeof(*pool->trees));

	if (!more)
		abort();
	pool->trees = more;
	pool->trees[pool->count] = tree;
	return pool->count++;
}

/*
 * For an all-reduce: every switch on the path takes part. From then on, reaching it costs only an
 * input.
 */
static void join_all(struct draft *draft, const struct plan_flow *way)
{
	const unsigned hosts = draft->graph->host_count;

	for (unsigned i = 0; i < way->length; i++) {
		struct plan_flow step = {plan_link_from(draft->graph, way->links[i]),
		                         plan_link_to(draft->graph, way->links[i]),
		                         1,
		                         {way->links[i]}};

		append(draft, &step);
		draft->aggregates[step.to] = true;
		draft->ends.costs[step.to] = draft->prices.inputs[step.to - hosts];
		draft->ends.entering[step.to] = 0;
	}
}

/* Splits the flow that passes a switch: it now ends there, and the rest is a new flow. */
static void split(struct draft *draft, unsigned node)
{
	struct plan_flow *whole = &draft->flows[draft->passing[node] - 1];
	struct plan_flow rest = {.from = node, .to = whole->to};
	unsigned at = 0;

	while (plan_link_to(draft->graph, whole->links[at]) != node)
		at++;
	rest.length = whole->length - at - 1;
	memcpy(rest.links, whole->links + at + 1, rest.length * sizeof(*rest.links));
	whole->to = node;
	whole->length = at + 1;
	draft->flows[draft->count++] = rest;
	draft->aggregates[node] = true;
	/* For the switches on the rest of the path, the passing flow is now the new one. */
	for (unsigned i = 0; i + 1 < rest.length; i++) {
		const unsigned next = plan_link_to(draft->graph, rest.links[i]);

		if (&draft->flows[draft->passing[next] - 1] == whole)
			draft->passing[next] = draft->count;
	}
}

/* For a server: a path may end at any switch that a flow passes, if the switch can aggregate. */
static void join_some(struct draft *draft, const struct plan_flow *way)
{
	const struct plan_graph *graph = draft->graph;

	if (plan_is_switch(graph, way->to) && !draft->aggregates[way->to])
		split(draft, way->to);
	append(draft, way);
	for (unsigned node = graph->host_count; node < graph->node_count; node++) {
		const unsigned place = node - graph->host_count;

		if (!graph->switches[place].aggregates)
			continue;
		if (draft->aggregates[node])
			draft->ends.costs[node] = draft->prices.inputs[place];
		else if (draft->passing[node])
			draft->ends.costs[node] =
			        2 * draft->prices.inputs[place] + draft->prices.contexts[place];
	}
}

unsigned plan_add_tree(struct plan_pool *pool, unsigned job, unsigned root, const unsigned *hosts,
                       const struct plan_prices *prices)
{
	const struct plan_graph *graph = pool->graph;
	const struct plan_job *of = &pool->jobs->jobs[job];
	struct draft *draft = open_draft(graph);
	const bool is_all = plan_is_switch(graph, root);
	struct plan_flow way;
	bool good = true;

	for (unsigned link = 0; link < graph->link_count; link++)
		draft->prices.links[link] = prices->links[link] + prices->links[link ^ 1];
	memcpy(draft->prices.inputs, prices->inputs, sizeof(prices->inputs));
	memcpy(draft->prices.contexts, prices->contexts, sizeof(prices->contexts));
	draft->ends.only_up = is_all;
	draft->ends.costs[root] = 0;
	for (unsigned i = 0; is_all && i < graph->topology->switch_count; i++)
		draft->ends.entering[graph->host_count + i] =
		        graph->switches[i].aggregates ? prices->inputs[i] + prices->contexts[i]
		                                      : INFINITY;
	for (unsigned i = 0; good && i < of->count; i++) {
		good = plan_find_way(graph, &draft->prices, &draft->ends, hosts[i], &way, NULL);
		if (good && is_all)
			join_all(draft, &way);
		else if (good)
			join_some(draft, &way);
	}
	unsigned number = PLAN_NONE, inputs = 0;

	for (unsigned i = 0; i < draft->count; i++)
		inputs += draft->flows[i].to == root;
	/* With a single input to this root, a lower switch would be the root. */
	if (good && (!is_all || inputs > 1))
		number = add(pool, draft, job,
		             draft->count == of->count && !is_all ? PLAN_DIRECT : PLAN_TREE, root);
	free(draft);
	return number;
}

/*
 * Adds a flow on a shortest path. Among several, takes the one with the least load, relative to the
 * rates of its links. Adds `load` to the load of the path's links, and of their opposites if the
 * flow is mirrored.
 */
static void add_plain(struct draft *draft, unsigned from, unsigned to, double *loads, double load,
                      bool is_mirrored)
{
	const struct plan_graph *graph = draft->graph;
	double least = INFINITY;
	struct plan_flow way;

	for (unsigned link = 0; link < graph->link_count; link++)
		least = fmin(least, graph->rates[link]);
	for (unsigned link = 0; link < graph->link_count; link++)
		draft->prices.links[link] =
		        1 + 1e-6 * (loads[link] + load) * least / graph->rates[link];
	for (unsigned node = 0; node < graph->node_count; node++)
		draft->ends.costs[node] = INFINITY;
	draft->ends.costs[to] = 0;
	/* Every host has a path to every other host: topology_open() has checked that. */
	if (!plan_find_way(graph, &draft->prices, &draft->ends, from, &way, NULL))
		abort();
	for (unsigned i = 0; i < way.length; i++) {
		loads[way.links[i]] += load;
		if (is_mirrored)
			loads[way.links[i] ^ 1] += load;
	}
	append(draft, &way);
}

unsigned plan_add_plain(struct plan_pool *pool, unsigned job, double *loads)
{
	const struct plan_job *of = &pool->jobs->jobs[job];
	const bool is_ring = of->server == PLAN_NONE;
	struct draft *draft = open_draft(pool->graph);
	unsigned hosts[TOPOLOGY_HOSTS_MAX];

	plan_order_hosts(pool->graph, of, hosts);
	for (unsigned i = 0; i < of->count; i++)
		add_plain(draft, hosts[i], is_ring ? hosts[(i + 1) % of->count] : of->server, loads,
		          is_ring ? 2.0 * (of->count - 1) / of->count : 1, !is_ring);
	const unsigned number = add(pool, draft, job, is_ring ? PLAN_RING : PLAN_DIRECT,
	                            is_ring ? PLAN_NONE : of->server);

	free(draft);
	return number;
}

/*
 * Adds a flow from each of the job's hosts to its nearest aggregator. Returns false if a host
 * reaches no aggregator.
 */
static bool add_ways_to_nearest(struct draft *draft, const struct plan_job *job)
{
	const struct plan_graph *graph = draft->graph;

	for (unsigned link = 0; link < graph->link_count; link++)
		draft->prices.links[link] = 1;
	for (unsigned i = 0; i < graph->topology->switch_count; i++)
		if (graph->switches[i].aggregates)
			draft->ends.costs[graph->host_count + i] = 0;
	for (unsigned i = 0; i < job->count; i++) {
		struct plan_flow way;

		if (!plan_find_way(graph, &draft->prices, &draft->ends, job->hosts[i], &way, NULL))
			return false;
		append(draft, &way);
	}
	return true;
}

/* Adds a flow to the server from each aggregator at which a flow ends. */
static void add_ways_to_server(struct draft *draft, unsigned server, double *loads)
{
	const unsigned count = draft->count;

	for (unsigned i = 0; i < count; i++) {
		const unsigned node = draft->flows[i].to;

		if (draft->aggregates[node])
			continue;
		draft->aggregates[node] = true;
		add_plain(draft, node, server, loads, 1, true);
	}
}

/*
 * Adds to `plain` the paths of the first `hosts` flows of `draft` as far as the server, without
 * aggregation. Leaves out paths that are too long for a flow.
 */
static void add_same_ways(struct draft *plain, const struct draft *draft, unsigned hosts,
                          unsigned server)
{
	for (unsigned i = 0; i < hosts; i++) {
		struct plan_flow way = draft->flows[i];

		for (unsigned k = hosts; k < draft->count; k++) {
			const struct plan_flow *rest = &draft->flows[k];

			if (rest->from != way.to || way.length + rest->length > PLAN_WAY_MAX)
				continue;
			memcpy(way.links + way.length, rest->links,
			       rest->length * sizeof(*rest->links));
			way.length += rest->length;
			way.to = rest->to;
			break;
		}
		if (way.to == server)
			append(plain, &way);
	}
}

static unsigned add_nearest_to_server(struct plan_pool *pool, unsigned job, double *loads,
                                      unsigned *passed)
{
	const struct plan_job *of = &pool->jobs->jobs[job];
	struct draft *draft = open_draft(pool->graph), *plain = open_draft(pool->graph);
	unsigned number = PLAN_NONE;

	*passed = PLAN_NONE;
	if (add_ways_to_nearest(draft, of)) {
		add_ways_to_server(draft, of->server, loads);
		add_same_ways(plain, draft, of->count, of->server);
		number = add(pool, draft, job, PLAN_TREE, of->server);
		if (plain->count == of->count)
			*passed = add(pool, plain, job, PLAN_DIRECT, of->server);
	}
	free(draft);
	free(plain);
	return number;
}

double plan_tree_cost(const struct plan_graph *graph, const struct plan_tree *tree,
                      const struct plan_prices *prices)
{
	double cost = 0;

	for (unsigned link = 0; link < graph->link_count; link++)
		cost += tree->loads[link] * prices->links[link];
	for (unsigned i = 0; i < graph->topology->switch_count; i++)
		if (tree->inputs[i])
			cost += tree->inputs[i] * prices->inputs[i] + prices->contexts[i];
	return cost;
}

/* True if links that lead down connect the switch to all of the job's hosts. */
static bool is_above(const struct topology_routes *routes, unsigned place,
                     const struct plan_job *job, unsigned *missing)
{
	for (unsigned i = 0; i < job->count; i++)
		if (topology_route(routes, place, job->hosts[i])->ports[0] >=
		    routes->topology->switches[place].first_uplink) {
			*missing = job->hosts[i];
			return false;
		}
	return true;
}

/*
 * Goes up by the first port of the route to a host that is not below the switch yet, as frames for
 * aggregators do.
 */
static unsigned add_first_ways(struct plan_pool *pool, unsigned job)
{
	const struct plan_graph *graph = pool->graph;
	const struct plan_job *of = &pool->jobs->jobs[job];
	struct plan_prices *prices = allocate(1, sizeof(*prices));
	struct topology_routes routes;
	unsigned root = PLAN_NONE, number = PLAN_NONE;

	if (topology_routes_open(&routes, graph->topology) != 0)
		abort();
	for (unsigned link = 0; link < graph->link_count; link++)
		prices->links[link] = PLAN_NODES_MAX;
	for (unsigned i = 0; i < of->count; i++) {
		unsigned place = graph->topology->host_switch[of->hosts[i]], missing;

		while (!is_above(&routes, place, of, &missing)) {
			const struct topology_switch *at = &graph->topology->switches[place];
			const unsigned cable =
			        at->cables[topology_route(&routes, place, missing)->ports[0]];

			prices->links[2 * cable] = 1;
			place = graph->topology->cables[cable].upper;
		}
		if (root == PLAN_NONE)
			root = place;
	}
	topology_routes_close(&routes);
	number = plan_add_tree(pool, job, graph->host_count + root, of->hosts, prices);
	free(prices);
	return number;
}

unsigned plan_add_nearest(struct plan_pool *pool, unsigned job, double *loads, unsigned *passed)
{
	if (pool->jobs->jobs[job].server != PLAN_NONE)
		return add_nearest_to_server(pool, job, loads, passed);
	*passed = PLAN_NONE;
	return add_first_ways(pool, job);
}

unsigned plan_roots(const struct plan_graph *graph, const struct plan_job *job,
                    unsigned roots[TOPOLOGY_SWITCHES_MAX])
{
	struct topology_routes routes;
	unsigned count = 0, missing;

	if (topology_routes_open(&routes, graph->topology) != 0)
		abort();
	for (unsigned i = 0; i < graph->topology->switch_count; i++)
		if (graph->switches[i].aggregates && is_above(&routes, i, job, &missing))
			roots[count++] = i;
	topology_routes_close(&routes);
	return count;
}

/*
 * The switch above a host at `level`, by first uplinks; if it is the same for two hosts, both are
 * below it.
 */
static unsigned place_of(const struct topology *topology, unsigned host, unsigned level)
{
	unsigned place = topology->host_switch[host];

	while (topology->switches[place].level < level && topology->switches[place].uplink_count)
		place = topology->switches[place].uplinks[0];
	return place;
}

static bool is_before(const struct topology *topology, unsigned a, unsigned b)
{
	for (unsigned level = TOPOLOGY_LEVELS_MAX; level >= 1; level--) {
		const unsigned of_a = place_of(topology, a, level);
		const unsigned of_b = place_of(topology, b, level);

		if (of_a != of_b)
			return of_a < of_b;
	}
	return a < b;
}

void plan_order_hosts(const struct plan_graph *graph, const struct plan_job *job,
                      unsigned hosts[TOPOLOGY_HOSTS_MAX])
{
	for (unsigned i = 0; i < job->count; i++) {
		unsigned at = i;

		for (; at > 0 && is_before(graph->topology, job->hosts[i], hosts[at - 1]); at--)
			hosts[at] = hosts[at - 1];
		hosts[at] = job->hosts[i];
	}
}
