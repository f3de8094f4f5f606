/* SPDX-License-Identifier: Apache-2.0 */
/* ina-plan: the command line. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"
#include "common/streams.h"
#include "common/topology/open.h"
#include "example.h"
#include "lab.h"
#include "print.h"

enum {
	EXIT_USAGE = 2,
	EXIT_FAULT = 1,
	TREES_DEFAULT = 4,
	DRAWS_DEFAULT = 32,
	DRAWS_MOST = 10000,
	KEY_TREES = 0x100,
	KEY_DRAWS,
	KEY_SEED,
	KEY_EXACT,
	KEY_JSON,
	KEY_LAB,
	KEY_EXAMPLE,
};

struct options {
	const char *fabric;
	const char *jobs;
	const char *example;
	const char *lab;
	bool is_json;
	struct plan_options plan;
};

static const struct argp_option option_table[] = {
        {"trees", KEY_TREES, "K", 0,
         "Trees per job, 1 to 64, each with a share of its data (default 4)", 1},
        {"draws", KEY_DRAWS, "N", 0,
         "Rounds of the randomized rounding; the best one is kept (default 32)", 1},
        {"seed", KEY_SEED, "S", 0, "Seed of the randomized rounding (default 1)", 1},
        {"exact", KEY_EXACT, NULL, 0,
         "Finds the best choice of candidate trees by branch and bound; for small cases", 1},
        {"json", KEY_JSON, NULL, 0, "Prints the plan as JSON", 2},
        {"lab", KEY_LAB, "JOB", 0,
         "Prints only the best single tree of JOB, as a fabric for ina-lab run --topology", 2},
        {"example", KEY_EXAMPLE, "NAME", 0,
         "Plans an example instead of files: grid, the one in the paper on GRID", 2},
        {0},
};

static uint64_t whole(const struct argp_state *state, const char *what, const char *text,
                      uint64_t least, uint64_t most)
{
	uint64_t value = 0;

	if (!ina_parse_whole(text, least, most, &value))
		argp_failure(state, EXIT_USAGE, 0,
		             "%s takes a whole number from %llu to %llu, not '%s'", what,
		             (unsigned long long)least, (unsigned long long)most, text);
	return value;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_TREES:
		options->plan.trees_most =
		        (unsigned)whole(state, "--trees", argument, 1, PLAN_TREES_MOST);
		break;
	case KEY_DRAWS:
		options->plan.draws = (unsigned)whole(state, "--draws", argument, 1, DRAWS_MOST);
		break;
	case KEY_SEED:
		options->plan.seed = whole(state, "--seed", argument, 0, UINT64_MAX);
		break;
	case KEY_EXACT:
		options->plan.is_exact = true;
		break;
	case KEY_JSON:
		options->is_json = true;
		break;
	case KEY_LAB:
		options->lab = argument;
		break;
	case KEY_EXAMPLE:
		options->example = argument;
		break;
	case ARGP_KEY_ARG:
		if (state->arg_num == 0)
			options->fabric = argument;
		else if (state->arg_num == 1)
			options->jobs = argument;
		else
			argp_failure(state, EXIT_USAGE, 0, "too many arguments: '%s'", argument);
		break;
	case ARGP_KEY_END:
		if (options->example ? options->fabric != NULL : options->jobs == NULL)
			argp_failure(state, EXIT_USAGE, 0,
			             "takes a fabric and a file of jobs, or only --example");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int print(const struct options *options, const struct plan_result *result)
{
	const struct plan_names names = {options->example ? options->example : options->fabric,
	                                 options->jobs};
	const struct plan_jobs *jobs = result->pool.jobs;
	unsigned job = 0;

	if (!options->lab) {
		(options->is_json ? plan_print_json : plan_print_text)(stdout, result, &names);
		return 0;
	}
	while (job < jobs->count && strcmp(jobs->jobs[job].name, options->lab) != 0)
		job++;
	if (job == jobs->count) {
		fprintf(stderr, "ina-plan: --lab: no job '%s'\n", options->lab);
		return EXIT_USAGE;
	}
	json_t *fabric = plan_lab_fabric(result, job);

	if (!fabric) {
		fprintf(stderr, "ina-plan: --lab: job '%s' has no tree that ina-lab can run\n",
		        options->lab);
		return EXIT_USAGE;
	}
	json_dumpf(fabric, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(fabric);
	return 0;
}

static int run(const struct options *options, const struct topology *topology,
               const char *jobs_text)
{
	struct plan_graph *graph = calloc(1, sizeof(*graph));
	struct plan_jobs *jobs = calloc(1, sizeof(*jobs));
	char error[PLAN_ERROR_BYTES];
	struct plan_result result;
	int status = EXIT_USAGE;

	if (!graph || !jobs)
		abort();
	if (!plan_jobs_read(jobs, graph, topology,
	                    options->example ? options->example : options->jobs, jobs_text,
	                    error)) {
		fprintf(stderr, "ina-plan: %s\n", error);
	} else {
		if (plan_make(&result, graph, jobs, &options->plan, error)) {
			status = print(options, &result);
		} else {
			fprintf(stderr, "ina-plan: %s\n", error);
			status = EXIT_FAULT;
		}
		plan_result_close(&result);
	}
	free(jobs);
	free(graph);
	if (!ina_streams_flush("ina-plan"))
		status = EXIT_FAULT;
	return status;
}

int main(int argc, char **argv)
{
	static const struct argp parser = {
	        .options = option_table,
	        .parser = parse,
	        .args_doc = "FABRIC JOBS\n--example grid",
	        .doc = "Plans which switches of FABRIC aggregate for which job and over which "
	               "trees, and prints the rate of each job. FABRIC is a name or a file, as for "
	               "ina-lab --topology; JOBS is a JSON file.",
	};
	struct options options = {
	        .plan = {.trees_most = TREES_DEFAULT, .draws = DRAWS_DEFAULT, .seed = 1}};
	char error[TOPOLOGY_ERROR_BYTES] = "";
	const char *jobs_text = NULL;

	ina_streams_open();
	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&parser, argc, argv, 0, NULL, &options);
	struct topology *topology = options.example ? plan_example_open(options.example, &jobs_text)
	                                            : topology_open(options.fabric, error);

	if (!topology) {
		if (options.example)
			fprintf(stderr, "ina-plan: --example takes grid, not '%s'\n",
			        options.example);
		else
			fprintf(stderr, "ina-plan: %s\n", error);
		return EXIT_USAGE;
	}
	const int status = run(&options, topology, jobs_text);

	topology_close(topology);
	return status;
}
