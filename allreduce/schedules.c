/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the flat ring, leader-only and parallel schedules. */
#include "schedules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "cost_model.h"
#include "pattern.h"
#include "perf_open.h"

/* The size of the all-reduce that measures the bandwidths. */
#define PROBE_BYTES ((size_t)4 << 20)

/* Room for the description of the switches: a line of about 100 bytes per rank and per switch. */
#define TREE_BYTES (INA_MAX_RANKS * 200)

struct schedules {
	struct cost_model model;
	char tree[TREE_BYTES];
};

static const char *const NAMES[COST_COUNT] = {"flat ring", "leader", "parallel"};

/*
 * Opens one communicator at a time: an aggregator has room for few jobs, and each rail is a job.
 * The flat ring, which is not a job, is perf->comm and stays open.
 */
static int open_one(struct perf *perf, enum cost_schedule which, ina_comm **comm)
{
	static const enum ina_schedule kinds[] = {INA_SCHEDULE_FLAT, INA_SCHEDULE_LEADER,
	                                          INA_SCHEDULE_PARALLEL};
	char why[INA_ERROR_SIZE];
	enum ina_status status = INA_OK;

	*comm = perf->comm;
	if (which != COST_FLAT)
		status = perf_open(&perf->options, perf->options.algorithm, kinds[which], comm, why,
		                   sizeof(why));
	if (status == INA_OK)
		return 0;
	fprintf(stderr, "ina-perf: %s: %s: %s\n", NAMES[which], ina_status_name(status), why);
	return -1;
}

static int close_one(enum cost_schedule which, ina_comm *comm)
{
	enum ina_status status = which == COST_FLAT ? INA_OK : ina_close(comm);

	if (status == INA_OK)
		return 0;
	fprintf(stderr, "ina-perf: closing %s: %s\n", NAMES[which], ina_status_name(status));
	return -1;
}

/*
 * Runs all-reduces with one schedule, and takes the time of the slowest rank: a leader finishes
 * before the ranks for which it communicates.
 */
static int run_slowest(struct perf *perf, ina_comm *comm, const size_t *counts, size_t tensors,
                       enum ina_type type, struct perf_result *result)
{
	return perf_run_list(perf, comm, counts, tensors, type, INA_MAX, result);
}

static double time_of(struct perf *perf, ina_comm *comm, size_t bytes, int *status)
{
	struct perf_result result;
	size_t count = bytes / sizeof(float);

	if (run_slowest(perf, comm, &count, 1, INA_FLOAT32, &result) != 0)
		*status = -1;
	return result.time_s;
}

/* Bytes per second that one processor copies; 0 if copying takes no time. */
static double copy_rate(struct perf *perf)
{
	size_t bytes = perf->buffer_bytes < PROBE_BYTES ? perf->buffer_bytes : PROBE_BYTES;
	double start_s;
	double seconds;

	memset(perf->send, 1, bytes);
	start_s = ina_now_s();
	memmove(perf->recv, perf->send, bytes);
	seconds = ina_now_s() - start_s;
	return seconds > 0 ? (double)bytes / seconds : 0;
}

/*
 * Measures the parameters that were not given: alpha with the smallest flat all-reduce, the link
 * with the leader schedule.
 */
static int calibrate(struct perf *perf)
{
	const struct perf_options *options = &perf->options;
	struct cost_model *model = &perf->schedules->model;
	int status = 0;
	size_t probe = perf->buffer_bytes < PROBE_BYTES ? perf->buffer_bytes : PROBE_BYTES;
	double least = time_of(perf, perf->comm, sizeof(float), &status);
	double small = 0;
	double large = 0;
	ina_comm *leader;

	if (status != 0 || open_one(perf, COST_LEADER, &leader) != 0)
		return -1;
	small = time_of(perf, leader, sizeof(float), &status);
	if (status == 0)
		large = time_of(perf, leader, probe, &status);
	if (close_one(COST_LEADER, leader) != 0)
		return -1;
	model->alpha_s =
	        options->alpha_us > 0 ? options->alpha_us * 1e-6 : least / cost_steps(model->ranks);
	model->intra = options->intra_gbps > 0 ? options->intra_gbps * 1e9 / 8 : copy_rate(perf);
	large -= small + cost_inside(model, COST_LEADER, (double)probe);
	model->inter = options->inter_gbps > 0 ? options->inter_gbps * 1e9 / 8
	               : large > 0             ? cost_share(model) * (double)probe / large
	                                       : 1e12;
	return status;
}

static void explain(const struct perf *perf)
{
	const struct perf_options *options = &perf->options;
	const struct cost_model *model = &perf->schedules->model;
	double ring = 2.0 * (model->machines - 1) / model->machines;

	printf("# Cost model: n = %d machines, g = %d ranks on the largest, P = %d; alpha %.1f us "
	       "(%s), "
	       "B_inter %.1f Gb/s (%s), B_intra ",
	       model->machines, model->locals, model->ranks, model->alpha_s * 1e6,
	       options->alpha_us > 0 ? "given" : "measured", model->inter * 8e-9,
	       options->inter_gbps > 0 ? "given" : "measured");
	if (model->intra > 0)
		printf("%.1f Gb/s (%s)\n", model->intra * 8e-9,
		       options->intra_gbps > 0 ? "given" : "measured");
	else
		printf("unlimited (copying takes no time here)\n");
	printf("#   flat ring  2(P-1) alpha + 2(P-1)/P M/B_inter; at most 16 KiB: %d (alpha + "
	       "M/B_inter)\n"
	       "#   leader     a + g        M/B_intra + c M/B_inter\n"
	       "#   parallel   a + 2(g-1)/g M/B_intra + c M/B_inter, c = %.2f, a = %d alpha: %s\n",
	       cost_steps(model->ranks), cost_share(model),
	       model->aggregated ? 2 : 2 * (model->machines - 1),
	       model->aggregated ? "the aggregator sums between machines"
	                         : "no aggregator for all rails, a ring between machines");
	if (model->machines == 1)
		printf("# In-network aggregation will not help: all ranks are on one machine.\n");
	else if (model->locals == 1)
		printf("# One rank per machine: leader and parallel equal the flat all-reduce.\n");
	else if (model->machines == 2)
		printf("# In-network aggregation will not save bytes: a ring of 2 machines sends M "
		       "as "
		       "well.\n");
	else if (!model->aggregated)
		printf("# An aggregator would save bytes between machines: M instead of %.2f M.\n",
		       ring);
	else
		printf("# In-network aggregation sends M between machines, where a ring sends %.2f "
		       "M.\n",
		       ring);
}

/* Prints each line as a comment. */
static void print_tree(const char *tree)
{
	while (*tree != '\0') {
		int length = (int)strcspn(tree, "\n");

		printf("# %.*s\n", length, tree);
		tree += length + (tree[length] == '\n');
	}
}

static void print_head(const struct perf *perf)
{
	printf("# Between the machines, seen from rank 0:\n");
	print_tree(perf->schedules->tree);
	explain(perf);
	printf("#%11s %8s", "size", "type");
	for (int s = 0; s < COST_COUNT; s++)
		printf(" | %10s %10s %10s %7s", NAMES[s], "model", "wire/host", "#wrong");
	printf(" | %8s %8s  %s\n#%11s %8s", "flat/", "leader/", "model", "(B)", "");
	for (int s = 0; s < COST_COUNT; s++)
		printf(" | %10s %10s %10s %7s", "(us)", "(us)", "(B)", "");
	printf(" | %8s %8s  %s\n", "parallel", "parallel", "picks");
	fflush(stdout);
}

/*
 * Opens a parallel communicator to find out which rank is on which machine, and whether all rails
 * are aggregated.
 */
static int look(struct perf *perf)
{
	struct ina_stats stats;
	ina_comm *parallel;
	enum ina_status status;

	if (open_one(perf, COST_PARALLEL, &parallel) != 0)
		return -1;
	ina_comm_stats(parallel, &stats, sizeof(stats));
	ina_comm_explain(parallel, perf->schedules->tree, TREE_BYTES);
	perf->scratch[0] = (int32_t)stats.local_ranks;
	status = ina_allreduce(parallel, &perf->scratch[0], &perf->scratch[1], 1, INA_INT32,
	                       INA_MAX);
	if (status != INA_OK)
		perf_complain(parallel, "all-reduce of one element", status);
	perf->head.stats = stats;
	perf->schedules->model =
	        (struct cost_model){.ranks = perf->ranks,
	                            .machines = (int)stats.machines,
	                            .locals = perf->scratch[1],
	                            .aggregated = stats.algorithm == INA_ALGORITHM_INA};
	return close_one(COST_PARALLEL, parallel) == 0 && status == INA_OK ? 0 : -1;
}

int schedules_open(struct perf *perf)
{
	perf->schedules = calloc(1, sizeof(*perf->schedules));
	if (!perf->schedules) {
		fprintf(stderr, "ina-perf: no memory\n");
		return -1;
	}
	if (look(perf) != 0 || calibrate(perf) != 0)
		return -1;
	if (perf->rank == 0)
		print_head(perf);
	return 0;
}

void schedules_close(struct perf *perf)
{
	free(perf->schedules);
	perf->schedules = NULL;
}

/* Runs one size with one schedule. */
static int run_one(struct perf *perf, enum cost_schedule which, const size_t *counts,
                   size_t tensors, enum ina_type type, struct perf_result *result)
{
	ina_comm *comm;
	int status;

	if (open_one(perf, which, &comm) != 0)
		return -1;
	status = run_slowest(perf, comm, counts, tensors, type, result);
	return close_one(which, comm) == 0 ? status : -1;
}

static void print_row(const struct perf *perf, const struct perf_row *row)
{
	const struct perf_result *r = row->schedules;

	printf(" %11" PRIu64 " %8s", row->bytes, perf_type_name(row->type));
	for (int s = 0; s < COST_COUNT; s++) {
		if (r[s].time_s > 0)
			printf(" | %10.1f %10.1f %10.0f %7" PRIu64, r[s].time_s * 1e6,
			       row->modelled_s[s] * 1e6, r[s].wire_bytes, r[s].wrong);
		else
			printf(" | %10s %10.1f %10s %7s", "-", row->modelled_s[s] * 1e6, "-", "-");
	}
	if (perf->options.schedules)
		printf(" | %8.2f %8.2f  %s\n", r[COST_FLAT].time_s / r[COST_PARALLEL].time_s,
		       r[COST_LEADER].time_s / r[COST_PARALLEL].time_s, NAMES[row->picked]);
	else
		printf(" | %8s %8s  %s\n", "-", "-", NAMES[row->picked]);
	fflush(stdout);
}

int schedules_run(struct perf *perf, struct perf_row *row, const size_t *counts, size_t tensors)
{
	struct schedules *s = perf->schedules;
	int32_t picked = 0;

	row->has_schedules = true;
	for (int i = 0; i < COST_COUNT; i++)
		row->modelled_s[i] = cost_of(&s->model, (enum cost_schedule)i, (double)row->bytes);
	/* All ranks must run the same schedule, so rank 0 decides by its own measurements. */
	if (perf_sum_one(perf, perf->comm,
	                 perf->rank == 0 ? (int32_t)cost_fastest(&s->model, (double)row->bytes) : 0,
	                 &picked) != 0)
		return -1;
	row->picked = picked;
	for (int i = 0; i < COST_COUNT; i++) {
		if ((perf->options.schedules || i == picked) &&
		    run_one(perf, (enum cost_schedule)i, counts, tensors, row->type,
		            &row->schedules[i]) != 0)
			return -1;
	}
	row->result = row->schedules[perf->options.schedules ? COST_PARALLEL : picked];
	perf->row_count++;
	if (perf->rank == 0)
		print_row(perf, row);
	return 0;
}
