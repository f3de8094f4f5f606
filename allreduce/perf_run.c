/* SPDX-License-Identifier: Apache-2.0 */
/* Runs, times and checks all-reduces. */
#include "perf_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "pattern.h"
#include "wire_bytes.h"

/* The ranks' counts of wrong elements are summed as int32, so each is capped. */
#define WRONG_MAX   (INT32_MAX / INA_MAX_RANKS)
#define WORK_OF_ANY 65536.0

int perf_complain(const ina_comm *comm, const char *doing, enum ina_status status)
{
	fprintf(stderr, "ina-perf: %s: %s: %s\n", doing, ina_status_name(status), ina_error(comm));
	return -1;
}

int perf_sum_one(struct perf *perf, ina_comm *comm, int32_t value, int32_t *sum)
{
	enum ina_status status;

	perf->scratch[0] = value;
	status = ina_allreduce(comm, &perf->scratch[0], &perf->scratch[1], 1, INA_INT32, INA_SUM);
	if (status != INA_OK)
		return perf_complain(comm, "all-reduce of one element", status);
	*sum = perf->scratch[1];
	return 0;
}

/* Sums a count over all ranks for the table. Every rank also acts on its own count. */
static int add_wrong(struct perf *perf, ina_comm *comm, uint64_t wrong, uint64_t *sum)
{
	int32_t all = 0;

	if (perf_sum_one(perf, comm, wrong < WRONG_MAX ? (int32_t)wrong : WRONG_MAX, &all) != 0)
		return -1;
	*sum = (uint64_t)all > wrong ? (uint64_t)all : wrong;
	return 0;
}

/*
 * Combines the times of all ranks, into their mean (INA_SUM) or the slowest one's (INA_MAX). The
 * time of rank 0 alone says little, because ranks take turns in being late: a rank that was early
 * in the last all-reduce waits in the next.
 */
static int join_times(struct perf *perf, ina_comm *comm, enum ina_op of_ranks, double *time_s)
{
	float time = (float)(of_ranks == INA_SUM ? *time_s / perf->ranks : *time_s);
	enum ina_status status;

	memcpy(&perf->scratch[0], &time, sizeof(time));
	status =
	        ina_allreduce(comm, &perf->scratch[0], &perf->scratch[1], 1, INA_FLOAT32, of_ranks);
	if (status != INA_OK)
		return perf_complain(comm, "all-reduce of the times", status);
	memcpy(&time, &perf->scratch[1], sizeof(time));
	*time_s = (double)time;
	return 0;
}

double perf_work(size_t count, enum ina_type type)
{
	return WORK_OF_ANY + (double)(count * ina_type_size(type));
}

/* Makes one call with new data. Adds its time to `result` unless that is NULL, and checks it if
 * the options say so. */
static int run_once(struct perf *perf, ina_comm *comm, size_t count, enum ina_type type,
                    struct perf_result *result, uint64_t *wrong)
{
	const char *device = perf->head.stats.device;
	struct pattern pattern = {
	        .type = type,
	        .op = perf->options.op,
	        .seed = perf->options.seed + perf->seed++,
	        .ranks = perf->ranks,
	        .slack = perf->options.fixed_point && type == INA_FLOAT32 &&
	                                 perf->options.op == INA_SUM
	                         ? perf->head.fixed_bound
	                         : 0,
	};
	const struct collective_call call = {
	        .kind = perf->options.collective,
	        .rank = perf->rank,
	        .ranks = perf->ranks,
	        .root = perf->options.root,
	        .send = perf->send,
	        .recv = perf->recv,
	        .count = count,
	};
	uint64_t before = 0;
	uint64_t after = 0;
	size_t first = 0;
	int32_t met;
	uint64_t found = 0;
	double start;
	double end;
	bool counted;
	enum ina_status status;

	collective_fill(&call, &pattern);
	if (perf_sum_one(perf, comm, 1, &met) != 0)
		return -1;
	counted = wire_bytes_read(device, &before) == 0;
	start = ina_now_s();
	status = collective_run(&call, comm, type, pattern.op);
	end = ina_now_s();
	if (status != INA_OK)
		return perf_complain(comm, ina_call_row(call.kind)->name, status);
	counted = counted && wire_bytes_read(device, &after) == 0;
	if (result) {
		result->time_s += end - start;
		result->wire_bytes = counted ? result->wire_bytes + (double)(after - before) : -1;
	}
	if (perf->options.check)
		found = collective_check(&call, &pattern, &first, &perf->head.farthest);
	if (found > 0)
		fprintf(stderr,
		        "ina-perf: rank %d: %" PRIu64
		        " of %zu elements are wrong; the first is number %zu\n",
		        perf->rank, found, count, first);
	*wrong += found;
	progress_add(&perf->progress, perf_work(count, type));
	return 0;
}

/* The number of calls that the hosts carried out themselves although there is an aggregator. */
static uint64_t calls_beside(const struct ina_stats *stats)
{
	return stats->calls_unfit + stats->calls_halved;
}

int perf_run_list(struct perf *perf, ina_comm *comm, const size_t *counts, size_t tensors,
                  enum ina_type type, enum ina_op of_ranks, struct perf_result *result)
{
	int iterations = perf->options.iterations;
	struct ina_stats before;
	struct ina_stats stats;
	uint64_t wrong = 0;

	*result = (struct perf_result){0};
	ina_comm_stats(comm, &before, sizeof(before));
	for (int i = 0; i < perf->options.warmups + iterations; i++) {
		bool timed = i >= perf->options.warmups;

		for (size_t t = 0; t < tensors; t++) {
			if (run_once(perf, comm, counts[t], type, timed ? result : NULL, &wrong) !=
			    0)
				return -1;
		}
	}
	if (add_wrong(perf, comm, wrong, &result->wrong) != 0 ||
	    join_times(perf, comm, of_ranks, &result->time_s) != 0)
		return -1;
	perf->any_wrong = perf->any_wrong || result->wrong > 0;
	ina_comm_stats(comm, &stats, sizeof(stats));
	result->algorithm =
	        calls_beside(&stats) > calls_beside(&before) ? INA_ALGORITHM_RING : stats.algorithm;
	result->fallbacks = stats.fallbacks - before.fallbacks;
	result->rejoins = stats.rejoins - before.rejoins;
	result->yields = stats.yields - before.yields;
	result->time_s /= iterations;
	if (result->wire_bytes > 0)
		result->wire_bytes /= iterations;
	return 0;
}
