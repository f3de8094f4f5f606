/* SPDX-License-Identifier: Apache-2.0 */
/* plan_check() accepts good plans, and names the error in each plan that the test has changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/topology/open.h"
#include "planner/check.h"
#include "planner/plan.h"

enum { TREES_MOST = 4 };

struct planned {
	struct topology *topology;
	struct plan_graph graph;
	struct plan_jobs jobs;
	struct plan_result result;
	struct plan_tree *tree; /* the first one that is used */
	unsigned number;
};

static struct planned *plan(const char *fabric, const char *jobs)
{
	const struct plan_options options = {.trees_most = TREES_MOST, .draws = 4, .seed = 1};
	struct planned *planned = calloc(1, sizeof(*planned));
	char error[PLAN_ERROR_BYTES] = "";

	assert_non_null(planned);
	planned->topology = topology_open(fabric, error);
	assert_non_null(planned->topology);
	if (!plan_jobs_read(&planned->jobs, &planned->graph, planned->topology, "test", jobs,
	                    error) ||
	    !plan_make(&planned->result, &planned->graph, &planned->jobs, &options, error))
		fail_msg("%s", error);
	while (!(planned->result.best.rates[planned->number] > 0))
		planned->number++;
	planned->tree = &planned->result.pool.trees[planned->number];
	return planned;
}

static void done(struct planned *planned)
{
	plan_result_close(&planned->result);
	topology_close(planned->topology);
	free(planned);
}

/* NULL: there is no error. */
static void check_says(struct planned *planned, const char *what)
{
	char error[PLAN_ERROR_BYTES] = "";
	const struct plan *best = &planned->result.best;
	const bool good =
	        plan_check(&planned->result.pool, best->rates, best->smallest, TREES_MOST, error);

	if (good != !what || (what && !strstr(error, what)))
		fail_msg("said '%s', not '%s'", error, what ? what : "");
}

#define ALL_REDUCE "{\"jobs\": [{\"name\": \"a\", \"hosts\": 8}]}"
#define SERVER     "{\"jobs\": [{\"name\": \"a\", \"hosts\": 7, \"server\": 7}]}"

static void test_good(void **state)
{
	static const char *const jobs[] = {ALL_REDUCE, SERVER};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct planned *planned = plan("clos:2x4x2", jobs[i]);

		check_says(planned, NULL);
		done(planned);
	}
}

static void test_ways(void **state)
{
	struct planned *planned = plan("clos:2x4x2", ALL_REDUCE);
	struct plan_flow *flow = &planned->tree->flows[0];
	const struct plan_flow good = *flow;

	(void)state;
	flow->links[0] = 2 * 7; /* the cable of another host */
	check_says(planned, "a flow breaks off");
	*flow = good;
	flow->length = 0;
	check_says(planned, "a flow of 0 cables");
	*flow = good;
	flow->to++;
	check_says(planned, "a flow does not reach its end");
	*flow = good;
	/* From a leaf up, down and up again; and from a host through that host. */
	flow->length = 3;
	flow->links[1] = flow->links[0] ^ 1;
	flow->links[2] = flow->links[0];
	check_says(planned, "a flow passes a host");
	*flow = good;
	check_says(planned, NULL);
	while (flow->from < planned->graph.host_count)
		flow++;
	flow->links[1] = flow->links[0] ^ 1;
	flow->links[2] = flow->links[0];
	flow->length = 3;
	check_says(planned, "a flow goes down and up again");
	done(planned);
}

static void test_sums(void **state)
{
	struct planned *planned = plan("clos:2x4x2", ALL_REDUCE);
	struct plan_tree *tree = planned->tree;
	const struct plan_flow first = tree->flows[0];

	(void)state;
	tree->flows[0] = tree->flows[--tree->flow_count];
	check_says(planned,
	           "sends 0 flows"); /* one rank's gradients, or one switch's sums, are lost */
	tree->flows[tree->flow_count++] = first;
	tree->flows[0] = first;
	check_says(planned, "sends 2 flows"); /* and twice */
	done(planned);

	planned = plan("clos:2x4x2", ALL_REDUCE);
	planned->jobs.jobs[0].count--;
	check_says(planned, "is not that of all 7 hosts");
	done(planned);

	planned = plan("clos:2x4x2", ALL_REDUCE);
	planned->graph.switches[0].aggregates = false;
	check_says(planned, "'leaf0' has no aggregator");
	done(planned);
}

static void test_capacities(void **state)
{
	struct planned *planned = plan("clos:2x4x2", ALL_REDUCE);
	struct plan *best = &planned->result.best;

	(void)state;
	best->rates[planned->number] *= 1.01;
	check_says(planned, "of 1e+11 bit/s");
	best->rates[planned->number] *= -1;
	check_says(planned, "a rate of");
	best->rates[planned->number] /= -1.01;
	check_says(planned, NULL);
	/* A leaf adds the flows of two hosts. */
	planned->graph.switches[0].processing = 2 * 100e9;
	check_says(planned, NULL);
	planned->graph.switches[0].processing = 199e9;
	check_says(planned, "switch 'leaf0' adds 2e+11 of 1.99e+11");
	planned->graph.switches[0].processing = 2 * 100e9;
	planned->graph.switches[3].contexts = 0;
	check_says(planned, "switch 'leaf3' has 1 jobs and room for 0");
	planned->graph.switches[3].contexts = 1;
	planned->jobs.jobs[0].memory = 1000;
	planned->graph.switches[2].memory = 999;
	check_says(planned, "switch 'leaf2' needs 1000 of 999");
	planned->graph.switches[2].memory = 1000;
	check_says(planned, NULL);
	best->smallest *= 1.01;
	check_says(planned, "less than the");
	done(planned);
}

/* All possible trees, each at a rate of almost nothing. */
static void test_count_of_trees(void **state)
{
	struct planned *planned =
	        plan("fat-tree:4", "{\"jobs\": [{\"name\": \"a\", \"hosts\": 16}]}");
	struct plan *best = &planned->result.best;
	unsigned count = 0;

	(void)state;
	best->smallest = 0;
	memset(best->rates, 0, planned->result.pool.count * sizeof(*best->rates));
	for (unsigned i = 0; i < planned->result.pool.count && count < 5; i++, count++)
		best->rates[i] = 1;
	assert_int_equal(count, 5); /* four cores, and the ring */
	check_says(planned, "has 5 trees, more than 4");
	best->rates[0] = 0;
	check_says(planned, NULL);
	done(planned);
}

static void test_ring(void **state)
{
	struct planned *planned = plan("leaf-spine:2x2", "{\"contexts\": 0, \"jobs\": "
	                                                 "[{\"name\": \"a\", \"hosts\": 4}]}");
	struct plan_tree *tree = planned->tree;

	(void)state;
	assert_int_equal(tree->kind, PLAN_RING);
	check_says(planned, NULL);
	planned->result.best.rates[planned->number] *= 1.01;
	check_says(planned, "of 1e+11 bit/s");
	/* Two rings of two hosts each. */
	for (unsigned i = 0; i < 4; i++)
		tree->flows[i] = (struct plan_flow){
		        .from = i, .to = i ^ 1, .length = 2, .links = {2 * i, 2 * (i ^ 1) + 1}};
	check_says(planned, "the ring leaves a host out");
	done(planned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_good),           cmocka_unit_test(test_ways),
	        cmocka_unit_test(test_sums),           cmocka_unit_test(test_capacities),
	        cmocka_unit_test(test_count_of_trees), cmocka_unit_test(test_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
