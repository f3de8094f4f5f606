/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ina-perf runs: all-reduces of fresh data, timed and checked.
 *
 * Before each timed all-reduce the ranks meet in one of a single element, so that what is timed is
 * the all-reduce and not who came late to it.
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
	ina_comm *ring;              /* NULL unless compared */
	struct schedules *schedules; /* NULL unless compared or picked from */
	uint8_t *send;
	uint8_t *recv; /* == send: in place */
	size_t buffer_bytes;
	int32_t *scratch; /* SCRATCH_BYTES, for what is not measured */
	struct perf_head head;
	struct perf_row *rows;
	size_t row_count;
	size_t row_limit;
	uint64_t seed;            /* of the data of the next all-reduce */
	struct progress progress; /* in all-reduces, see perf_work() */
	bool any_wrong;
};

/* Prints the error of a call; -1. */
int perf_complain(const ina_comm *comm, const char *doing, enum ina_status status);

/* All-reduces one int32, and returns its sum in *sum. 0, or -1 with a line printed. */
int perf_sum_one(struct perf *perf, ina_comm *comm, int32_t value, int32_t *sum);

/*
 * Work of an all-reduce, for the progress shown: its bytes, and what the meeting before it and the
 * steps of any all-reduce take, as if it were bytes.
 */
double perf_work(size_t count, enum ina_type type);

/*
 * All iterations of one list of tensors by one communicator. The time is the mean of all ranks'
 * (of_ranks = INA_SUM) or the slowest one's (INA_MAX). 0, or -1 with a line printed.
 */
int perf_run_list(struct perf *perf, ina_comm *comm, const size_t *counts, size_t tensors,
                  enum ina_type type, enum ina_op of_ranks, struct perf_result *result);

#endif
