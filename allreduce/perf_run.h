/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs all-reduces of new data, times them and checks them.
 *
 * Before each timed all-reduce the ranks meet in one of a single element. So the time is that of
 * the all-reduce, and does not include waiting for a late rank.
 */
#ifndef INA_PERF_RUN_H
#define INA_PERF_RUN_H

#include "perf_options.h"
#include "perf_table.h"
#include "progress.h"

#define SCRATCH_BYTES 4096u

struct schedules;

struct perf {
	struct perf_options options;
	int rank;
	int ranks;
	ina_comm *comm;
	ina_comm *ring;              /* NULL unless the ring is compared */
	struct schedules *schedules; /* NULL unless schedules are compared or picked */
	uint8_t *send;
	uint8_t *recv; /* equal to `send` if in place */
	size_t buffer_bytes;
	int32_t *scratch; /* SCRATCH_BYTES, for calls that are not measured */
	struct perf_head head;
	struct perf_row *rows;
	size_t row_count;
	size_t row_limit;
	uint64_t seed;            /* of the data of the next all-reduce */
	struct progress progress; /* in units of perf_work() */
	bool any_wrong;
};

/* Prints the error of a call. Returns -1. */
int perf_complain(const ina_comm *comm, const char *doing, enum ina_status status);

/* All-reduces one int32 and sets *sum to the sum. Returns 0, or -1 after a printed error. */
int perf_sum_one(struct perf *perf, ina_comm *comm, int32_t value, int32_t *sum);

/*
 * The work of an all-reduce, for the progress display: its bytes, plus an equivalent number of
 * bytes for the meeting before it and for the steps of any all-reduce.
 */
double perf_work(size_t count, enum ina_type type);

/*
 * Runs all iterations of a list of tensors on one communicator. The time is the mean of all ranks
 * (of_ranks = INA_SUM) or the slowest one's (INA_MAX). Returns 0, or -1 after a printed error.
 */
int perf_run_list(struct perf *perf, ina_comm *comm, const size_t *counts, size_t tensors,
                  enum ina_type type, enum ina_op of_ranks, struct perf_result *result);

#endif
