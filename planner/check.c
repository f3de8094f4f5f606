/* SPDX-License-Identifier: Apache-2.0 */
/* Written from README.md, independently of trees.c: of a tree it uses only the flows. */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-6; /* relative; for the rounding errors of the simplex method */

struct ledger {
	const struct plan_graph *graph;
	const struct plan_jobs *jobs;
	double links[PLAN_LINKS_MAX];
	double processing[TOPOLOGY_SWITCHES_MAX];
	bool is_at[PLAN_JOBS_MAX][TOPOLOGY_SWITCHES_MAX];
	double job_rates[PLAN_JOBS_MAX];
	unsigned job_trees[PLAN_JOBS_MAX];
	char *error;
};

__attribute__((format(printf, 2, 3))) static bool complain(const struct ledger *ledger,
                                                           const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(ledger->error, PLAN_ERROR_BYTES, format, arguments);
	va_end(arguments);
	return false;
}

/* The node at which a link begins, directly from the cables. */
static unsigned begin_of(const struct plan_graph *graph, unsigned link)
{
	const struct topology_cable *cable = &graph->topology->cables[link / 2];
	const unsigned upper = graph->topology->host_count + cable->upper;
	const unsigned lower =
	        cable->has_host ? cable->lower : graph->topology->host_count + cable->lower;

	return link % 2 ? upper : lower;
}

/* A flow's links must connect, lead up and then down, and end at the node that the flow names. */
static bool check_way(const struct ledger *ledger, const struct plan_flow *flow, unsigned tree)
{
	unsigned at = flow->from;
	bool goes_down = false;

	if (!flow->length || flow->length > PLAN_WAY_MAX)
		return complain(ledger, "tree %u: a flow of %u cables", tree, flow->length);
	for (unsigned i = 0; i < flow->length; i++) {
		const unsigned link = flow->links[i];

		if (link >= 2 * ledger->graph->topology->cable_count ||
		    begin_of(ledger->graph, link) != at)
			return complain(ledger, "tree %u: a flow breaks off", tree);
		if (goes_down && link % 2 == 0)
			return complain(ledger, "tree %u: a flow goes down and up again", tree);
		goes_down = link % 2;
		at = begin_of(ledger->graph, link ^ 1);
		if (i + 1 < flow->length && at < ledger->graph->topology->host_count)
			return complain(ledger, "tree %u: a flow passes a host", tree);
	}
	return at == flow->to || complain(ledger, "tree %u: a flow does not reach its end", tree);
}

/* The number of the job's hosts in a node's sum, counted through the flows that end there. */
static int contributors(const struct plan_tree *tree, unsigned node, unsigned hosts, int depth)
{
	int sum = 0;

	if (depth > PLAN_NODES_MAX)
		return -1;
	for (unsigned i = 0; i < tree->flow_count; i++)
		if (tree->flows[i].to == node) {
			const unsigned from = tree->flows[i].from;
			const int more =
			        from < hosts ? 1 : contributors(tree, from, hosts, depth + 1);

			if (more < 0)
				return -1;
			sum += more;
		}
	return sum;
}

/* The flows must lead from one of the job's hosts to the next, and back to the first. */
static bool check_ring(const struct ledger *ledger, const struct plan_tree *tree, unsigned number)
{
	const struct plan_job *job = &ledger->jobs->jobs[tree->job];
	unsigned at = job->hosts[0], steps = 0;

	if (job->server != PLAN_NONE || tree->flow_count != job->count)
		return complain(ledger, "tree %u: no ring of the job's hosts", number);
	do {
		unsigned i = 0;

		while (i < tree->flow_count && tree->flows[i].from != at)
			i++;
		if (i == tree->flow_count)
			return complain(ledger, "tree %u: the ring is not closed", number);
		at = tree->flows[i].to;
		steps++;
	} while (at != job->hosts[0] && steps <= job->count);
	return steps == job->count ||
	       complain(ledger, "tree %u: the ring leaves a host out", number);
}

/* The flows that each node sends, and those that end at it. */
struct flow_counts {
	unsigned sent[PLAN_NODES_MAX], came[PLAN_NODES_MAX];
};

/*
 * Flows must meet at switches with aggregators, and the sum at the root must be that of all hosts.
 */
static bool check_sums(const struct ledger *ledger, const struct plan_tree *tree, unsigned number,
                       const struct flow_counts *flows)
{
	const unsigned hosts = ledger->graph->topology->host_count;
	const struct plan_job *job = &ledger->jobs->jobs[tree->job];
	unsigned root = job->server;

	if (root == PLAN_NONE)
		for (root = hosts;
		     root < PLAN_NODES_MAX - 1 && !(flows->came[root] && !flows->sent[root]);)
			root++;
	for (unsigned node = hosts; node < ledger->graph->node_count; node++) {
		const char *name = ledger->graph->topology->switches[node - hosts].name;

		if (flows->came[node] && !ledger->graph->switches[node - hosts].aggregates)
			return complain(ledger, "tree %u: '%s' has no aggregator", number, name);
		if (flows->sent[node] != (flows->came[node] && node != root))
			return complain(ledger, "tree %u: '%s' sends %u flows", number, name,
			                flows->sent[node]);
	}
	if (tree->flow_count > 2 * PLAN_NODES_MAX ||
	    contributors(tree, root, hosts, 0) != (int)job->count)
		return complain(ledger, "tree %u: the sum at its root is not that of all %u hosts",
		                number, job->count);
	/* libina can open a tree only if every switch on its paths takes part. */
	for (unsigned i = 0; job->server == PLAN_NONE && i < tree->flow_count; i++)
		if (tree->flows[i].length != 1)
			return complain(ledger, "tree %u: a switch on the way takes no part",
			                number);
	return true;
}

/* Each host of the job, and each switch at which a flow ends, must send exactly one flow. */
static bool check_tree(const struct ledger *ledger, const struct plan_tree *tree, unsigned number)
{
	const struct plan_job *job = &ledger->jobs->jobs[tree->job];
	const bool is_ring = tree->kind == PLAN_RING;
	struct flow_counts flows = {0};

	for (unsigned i = 0; i < tree->flow_count; i++) {
		if (!check_way(ledger, &tree->flows[i], number))
			return false;
		flows.sent[tree->flows[i].from]++;
		flows.came[tree->flows[i].to]++;
	}
	for (unsigned i = 0; i < job->count; i++) {
		const unsigned host = job->hosts[i];

		if (flows.sent[host] != 1 || flows.came[host] != is_ring)
			return complain(ledger, "tree %u: host %u sends %u flows", number, host,
			                flows.sent[host]);
	}
	return is_ring ? check_ring(ledger, tree, number)
	               : check_sums(ledger, tree, number, &flows);
}

static void enter(struct ledger *ledger, const struct plan_tree *tree, double rate)
{
	const unsigned hosts = ledger->graph->topology->host_count;
	const double ranks = ledger->jobs->jobs[tree->job].count;
	const bool is_ring = tree->kind == PLAN_RING;

	for (unsigned i = 0; i < tree->flow_count; i++) {
		const struct plan_flow *flow = &tree->flows[i];

		for (unsigned k = 0; k < flow->length; k++) {
			ledger->links[flow->links[k]] +=
			        is_ring ? rate * 2 * (ranks - 1) / ranks : rate;
			if (!is_ring)
				ledger->links[flow->links[k] ^ 1] += rate;
		}
		if (flow->to >= hosts) {
			ledger->processing[flow->to - hosts] += rate;
			ledger->is_at[tree->job][flow->to - hosts] = true;
		}
	}
	ledger->job_rates[tree->job] += rate;
	ledger->job_trees[tree->job]++;
}

static bool check_capacities(const struct ledger *ledger)
{
	const struct plan_graph *graph = ledger->graph;

	for (unsigned link = 0; link < graph->link_count; link++)
		if (ledger->links[link] > graph->rates[link] * (1 + tolerance))
			return complain(ledger, "cable '%s' carries %g of %g bit/s",
			                graph->topology->cables[link / 2].name, ledger->links[link],
			                graph->rates[link]);
	for (unsigned i = 0; i < graph->topology->switch_count; i++) {
		const struct plan_switch *of = &graph->switches[i];
		const char *name = graph->topology->switches[i].name;
		unsigned contexts = 0;
		double memory = 0;

		for (unsigned job = 0; job < ledger->jobs->count; job++)
			if (ledger->is_at[job][i]) {
				contexts++;
				memory += ledger->jobs->jobs[job].memory;
			}
		if (ledger->processing[i] > of->processing * (1 + tolerance))
			return complain(ledger, "switch '%s' adds %g of %g bit/s", name,
			                ledger->processing[i], of->processing);
		if (contexts > of->contexts)
			return complain(ledger, "switch '%s' has %u jobs and room for %u", name,
			                contexts, of->contexts);
		if (memory > of->memory)
			return complain(ledger, "switch '%s' needs %g of %g bytes", name, memory,
			                of->memory);
	}
	return true;
}

bool plan_check(const struct plan_pool *pool, const double *rates, double smallest,
                unsigned trees_most, char error[PLAN_ERROR_BYTES])
{
	const struct plan_jobs *jobs = pool->jobs;
	struct ledger *ledger = calloc(1, sizeof(*ledger));
	bool good = ledger;

	if (!ledger)
		abort();
	ledger->graph = pool->graph;
	ledger->jobs = jobs;
	ledger->error = error;
	for (unsigned i = 0; good && i < pool->count; i++)
		if (rates[i] < 0)
			good = complain(ledger, "tree %u: a rate of %g", i, rates[i]);
		else if (rates[i] > 0 && (good = check_tree(ledger, &pool->trees[i], i)))
			enter(ledger, &pool->trees[i], rates[i]);
	good = good && check_capacities(ledger);
	for (unsigned job = 0; good && job < jobs->count; job++)
		if (ledger->job_rates[job] < smallest * (1 - tolerance))
			good = complain(ledger, "job '%s' has %g bit/s, less than the stated %g",
			                jobs->jobs[job].name, ledger->job_rates[job], smallest);
		else if (ledger->job_trees[job] > trees_most)
			good = complain(ledger, "job '%s' has %u trees, more than %u",
			                jobs->jobs[job].name, ledger->job_trees[job], trees_most);
	free(ledger);
	return good;
}
