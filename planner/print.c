/* SPDX-License-Identifier: Apache-2.0 */
/* Rates are printed in Gb/s with four decimals, which hides rounding errors. */
#include "print.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

static const double unit = 1e9;

/* The resource of the job's trees that is used up, and of which the job uses most. */
struct limit {
	enum { LIMIT_NONE, LIMIT_LINK, LIMIT_PROCESSING } kind;
	unsigned number; /* link or switch */
	double used;     /* by all jobs */
	double of;
	double fraction; /* that the job uses */
};

static void meet(struct limit *limit, int kind, unsigned number, double used, double of, double own)
{
	if (own <= 0 || used < of * (1 - 1e-6) || own / of <= limit->fraction * (1 + 1e-9))
		return;
	*limit = (struct limit){
	        .kind = kind, .number = number, .used = used, .of = of, .fraction = own / of};
}

static struct limit find_limit(const struct plan_pool *pool, const struct plan *plan, unsigned job)
{
	const struct plan_graph *graph = pool->graph;
	struct limit limit = {LIMIT_NONE, 0, 0, 0, 0};

	for (unsigned link = 0; link < graph->link_count; link++) {
		double all = 0, own = 0;

		for (unsigned i = 0; i < pool->count; i++) {
			all += plan->rates[i] * pool->trees[i].loads[link];
			if (pool->trees[i].job == job)
				own += plan->rates[i] * pool->trees[i].loads[link];
		}
		meet(&limit, LIMIT_LINK, link, all, graph->rates[link], own);
	}
	for (unsigned i = 0; i < graph->topology->switch_count; i++) {
		double all = 0, own = 0;

		for (unsigned k = 0; k < pool->count; k++) {
			all += plan->rates[k] * pool->trees[k].inputs[i];
			if (pool->trees[k].job == job)
				own += plan->rates[k] * pool->trees[k].inputs[i];
		}
		meet(&limit, LIMIT_PROCESSING, i, all, graph->switches[i].processing, own);
	}
	return limit;
}

static void limit_text(const struct plan_graph *graph, const struct limit *limit, char text[160])
{
	if (limit->kind == LIMIT_LINK)
		snprintf(text, 160, "cable %s %s", graph->topology->cables[limit->number / 2].name,
		         limit->number % 2 ? "down" : "up");
	else if (limit->kind == LIMIT_PROCESSING)
		snprintf(text, 160, "processing of %s",
		         graph->topology->switches[limit->number].name);
	else
		snprintf(text, 160, "nothing");
}

static const char *kind_name(enum plan_kind kind)
{
	return kind == PLAN_RING ? "ring" : kind == PLAN_DIRECT ? "direct" : "tree";
}

/* The plan to report: the exact one if it was requested, else the best one. */
static const struct plan *plan_of(const struct plan_result *result)
{
	return result->exact.rates ? &result->exact : &result->best;
}

static void way_text(const struct plan_graph *graph, const struct plan_flow *flow, char *text,
                     size_t bytes)
{
	size_t at = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < flow->length && at < bytes; i++)
		at += (size_t)snprintf(text + at, bytes - at, "%s%s", i ? " " : "",
		                       graph->topology->cables[flow->links[i] / 2].name);
}

static void print_switches(FILE *file, const struct plan_graph *graph, const struct plan_tree *tree)
{
	char name[TOPOLOGY_NAME_BYTES], way[PLAN_WAY_MAX * (TOPOLOGY_NAME_BYTES + 9)];

	for (unsigned n = graph->host_count; n < graph->node_count; n++) {
		const unsigned node = graph->by_level[n];

		if (!tree->inputs[node - graph->host_count])
			continue;
		plan_node_name(graph, node, name);
		fprintf(file, "    %s adds", name);
		for (unsigned i = 0; i < tree->flow_count; i++)
			if (tree->flows[i].to == node) {
				plan_node_name(graph, tree->flows[i].from, name);
				fprintf(file, " %s", name);
			}
		for (unsigned i = 0; i < tree->flow_count; i++)
			if (tree->flows[i].from == node) {
				plan_node_name(graph, tree->flows[i].to, name);
				way_text(graph, &tree->flows[i], way, sizeof(way));
				fprintf(file, ", for %s over %s", name, way);
			}
		fputc('\n', file);
	}
}

static void print_unadded(FILE *file, const struct plan_graph *graph, const struct plan_tree *tree)
{
	char name[TOPOLOGY_NAME_BYTES], way[PLAN_WAY_MAX * (TOPOLOGY_NAME_BYTES + 9)];

	for (unsigned i = 0; i < tree->flow_count; i++)
		if (!plan_is_switch(graph, tree->flows[i].from) &&
		    !plan_is_switch(graph, tree->flows[i].to)) {
			plan_node_name(graph, tree->flows[i].to, name);
			way_text(graph, &tree->flows[i], way, sizeof(way));
			fprintf(file, "    host%u to %s over %s\n", tree->flows[i].from, name, way);
		}
}

static void print_lab(FILE *file, const struct plan_result *result, const struct plan_names *names,
                      unsigned job)
{
	const char *name = result->pool.jobs->jobs[job].name;

	if (result->pool.jobs->jobs[job].server != PLAN_NONE) {
		fputs("  ina-lab: cannot run this job, since libina has no server\n", file);
		return;
	}
	if (!plan_lab_tree(result, job)) {
		fputs("  ina-lab: run --aggregator off, since the job uses the ring\n", file);
		return;
	}
	fprintf(file, "  ina-lab, with one tree per job: %.4f Gb/s\n",
	        plan_job_rate(&result->pool, &result->single, job) / unit);
	if (plan_lab_has_it(result, job))
		fprintf(file, "    ina-lab run --topology %s -- COMMAND\n", names->fabric);
	else if (names->jobs)
		fprintf(file,
		        "    ina-plan --lab %s %s %s >%s.json && ina-lab run --topology %s.json -- "
		        "COMMAND\n",
		        name, names->fabric, names->jobs, name, name);
}

/* A switch that has no room for the job, although one of the job's candidate trees uses it. */
static unsigned full_switch(const struct plan_pool *pool, const struct plan *plan, unsigned job)
{
	const struct plan_graph *graph = pool->graph;

	for (unsigned place = 0; place < graph->topology->switch_count; place++) {
		bool is_at[PLAN_JOBS_MAX] = {false}, is_wanted = false;
		unsigned contexts = 1;
		double memory = pool->jobs->jobs[job].memory;

		for (unsigned i = 0; i < pool->count; i++)
			if (pool->trees[i].inputs[place]) {
				is_at[pool->trees[i].job] |= plan->rates[i] > 0;
				is_wanted |= pool->trees[i].job == job;
			}
		for (unsigned other = 0; other < pool->jobs->count; other++)
			if (is_at[other]) {
				contexts++;
				memory += pool->jobs->jobs[other].memory;
			}
		if (is_wanted && !is_at[job] &&
		    (contexts > graph->switches[place].contexts ||
		     memory > graph->switches[place].memory))
			return place;
	}
	return PLAN_NONE;
}

static double unadded_rate(const struct plan_pool *pool, const struct plan *plan, unsigned job)
{
	double rate = 0;

	for (unsigned i = 0; i < pool->count; i++)
		if (pool->trees[i].job == job && pool->trees[i].kind != PLAN_TREE)
			rate += plan->rates[i];
	return rate;
}

static void print_job(FILE *file, const struct plan_result *result, const struct plan_names *names,
                      unsigned job)
{
	const struct plan_pool *pool = &result->pool;
	const struct plan_graph *graph = pool->graph;
	const struct plan_job *of = &pool->jobs->jobs[job];
	const struct plan *plan = plan_of(result);
	const double rate = plan_job_rate(pool, plan, job);
	const struct limit limit = find_limit(pool, plan, job);
	unsigned hosts[TOPOLOGY_HOSTS_MAX];
	char text[160];

	limit_text(graph, &limit, text);
	fprintf(file, "\njob %s: %u hosts%s, %.4f Gb/s, bound by %s", of->name, of->count,
	        of->server == PLAN_NONE ? "" : " and a server", rate / unit, text);
	if (limit.kind != LIMIT_NONE)
		fprintf(file, " (%.4f of %.4f Gb/s used, %.0f%% by this job)", limit.used / unit,
		        limit.of / unit, 100 * limit.fraction);
	fputc('\n', file);
	for (unsigned i = 0; i < pool->count; i++) {
		const struct plan_tree *tree = &pool->trees[i];

		if (tree->job != job || !(plan->rates[i] > 0))
			continue;
		fprintf(file, "  %s %.4f Gb/s, share %.4f\n", kind_name(tree->kind),
		        plan->rates[i] / unit, plan->rates[i] / rate);
		print_switches(file, graph, tree);
		print_unadded(file, graph, tree);
	}
	const double unadded = unadded_rate(pool, plan, job);
	const unsigned full = unadded > 0 ? full_switch(pool, plan, job) : PLAN_NONE;

	fprintf(file, "  %s: %.4f Gb/s", of->server == PLAN_NONE ? "over the ring" : "unadded",
	        unadded / unit);
	if (full != PLAN_NONE)
		fprintf(file, ", %s has no room for the job", graph->topology->switches[full].name);
	fputc('\n', file);
	plan_ranks(result, job, hosts);
	fputs("  ranks:", file);
	for (unsigned rank = 0; rank < of->count; rank++)
		fprintf(file, " host%u", hosts[rank]);
	fputc('\n', file);
	print_lab(file, result, names, job);
}

void plan_print_text(FILE *file, const struct plan_result *result, const struct plan_names *names)
{
	const struct topology *topology = result->pool.graph->topology;
	const struct plan *plan = plan_of(result);

	fprintf(file, "fabric %s: %u hosts, %u switches, %u cables; %u jobs, %u candidate trees\n",
	        names->fabric, topology->host_count, topology->switch_count, topology->cable_count,
	        result->pool.jobs->count, result->pool.count);
	fprintf(file, "smallest rate of a job, Gb/s:\n");
	fprintf(file, "  %-24s %10.4f\n", "without aggregation", result->plain.smallest / unit);
	fprintf(file, "  %-24s %10.4f\n", "nearest switch", result->nearest.smallest / unit);
	fprintf(file, "  %-24s %10.4f (%s)\n", "this plan", plan->smallest / unit, plan->from);
	fprintf(file, "  %-24s %10.4f (%s)\n", "with one tree per job",
	        result->single.smallest / unit, result->single.from);
	fprintf(file, "  %-24s %10.4f\n", "bound of the relaxation", result->bound / unit);
	fprintf(file, "time against nearest switch: %+.1f%%\n",
	        100 * (result->nearest.smallest / plan->smallest - 1));
	for (unsigned job = 0; job < result->pool.jobs->count; job++)
		print_job(file, result, names, job);
}

static json_t *flow_json(const struct plan_graph *graph, const struct plan_flow *flow)
{
	char from[TOPOLOGY_NAME_BYTES], to[TOPOLOGY_NAME_BYTES];
	json_t *cables = json_array();

	plan_node_name(graph, flow->from, from);
	plan_node_name(graph, flow->to, to);
	for (unsigned i = 0; i < flow->length; i++)
		json_array_append_new(
		        cables, json_string(graph->topology->cables[flow->links[i] / 2].name));
	return json_pack("{s:s, s:s, s:o}", "from", from, "to", to, "cables", cables);
}

static json_t *trees_json(const struct plan_pool *pool, const struct plan *plan, unsigned job)
{
	const double rate = plan_job_rate(pool, plan, job);
	json_t *trees = json_array();

	for (unsigned i = 0; i < pool->count; i++) {
		const struct plan_tree *tree = &pool->trees[i];
		json_t *flows, *switches;

		if (tree->job != job || !(plan->rates[i] > 0))
			continue;
		flows = json_array();
		switches = json_array();
		for (unsigned k = 0; k < tree->flow_count; k++)
			json_array_append_new(flows, flow_json(pool->graph, &tree->flows[k]));
		for (unsigned k = 0; k < pool->graph->topology->switch_count; k++)
			if (tree->inputs[k])
				json_array_append_new(
				        switches,
				        json_string(pool->graph->topology->switches[k].name));
		json_array_append_new(
		        trees, json_pack("{s:s, s:f, s:f, s:o, s:o}", "kind", kind_name(tree->kind),
		                         "rate", plan->rates[i], "share", plan->rates[i] / rate,
		                         "aggregators", switches, "flows", flows));
	}
	return trees;
}

static json_t *job_json(const struct plan_result *result, const struct plan_names *names,
                        unsigned job)
{
	const struct plan_pool *pool = &result->pool;
	const struct plan_job *of = &pool->jobs->jobs[job];
	const struct plan *plan = plan_of(result);
	const struct limit limit = find_limit(pool, plan, job);
	unsigned hosts[TOPOLOGY_HOSTS_MAX];
	char text[160];
	json_t *ranks = json_array(), *lab;

	limit_text(pool->graph, &limit, text);
	plan_ranks(result, job, hosts);
	for (unsigned rank = 0; rank < of->count; rank++)
		json_array_append_new(ranks, json_integer(hosts[rank]));
	json_t *object = json_pack("{s:s, s:f, s:s, s:f, s:o, s:o}", "name", of->name, "rate",
	                           plan_job_rate(pool, plan, job), "bound_by", text, "unadded_rate",
	                           unadded_rate(pool, plan, job), "ranks", ranks, "trees",
	                           trees_json(pool, plan, job));

	const unsigned full = full_switch(pool, plan, job);

	if (full != PLAN_NONE && unadded_rate(pool, plan, job) > 0)
		json_object_set_new(object, "no_room_at",
		                    json_string(pool->graph->topology->switches[full].name));
	if (of->server != PLAN_NONE)
		json_object_set_new(object, "server", json_integer(of->server));
	json_object_set_new(object, "single",
	                    json_pack("{s:f, s:o}", "rate",
	                              plan_job_rate(pool, &result->single, job), "trees",
	                              trees_json(pool, &result->single, job)));
	lab = plan_lab_fabric(result, job);
	if (lab) {
		json_object_set_new(object, "lab_fabric", lab);
		if (plan_lab_has_it(result, job))
			json_object_set_new(object, "lab_topology", json_string(names->fabric));
	}
	return object;
}

static json_t *summary(const struct plan *plan)
{
	return json_pack("{s:f, s:f, s:s}", "smallest", plan->smallest, "sum", plan->sum, "from",
	                 plan->from);
}

void plan_print_json(FILE *file, const struct plan_result *result, const struct plan_names *names)
{
	json_t *root = json_object(), *jobs = json_array();

	json_object_set_new(root, "fabric", json_string(names->fabric));
	json_object_set_new(root, "candidates", json_integer(result->pool.count));
	json_object_set_new(root, "bound", json_real(result->bound));
	json_object_set_new(root, "bound_trees", json_integer(result->heaviest));
	json_object_set_new(root, "plan", summary(plan_of(result)));
	json_object_set_new(root, "rounded", summary(&result->best));
	json_object_set_new(root, "single", summary(&result->single));
	json_object_set_new(root, "nearest", summary(&result->nearest));
	json_object_set_new(root, "plain", summary(&result->plain));
	for (unsigned job = 0; job < result->pool.jobs->count; job++)
		json_array_append_new(jobs, job_json(result, names, job));
	json_object_set_new(root, "jobs", jobs);
	/* Nine digits: further ones are rounding errors, which differ between machines. */
	json_dumpf(root, file, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	fputc('\n', file);
	json_decref(root);
}
