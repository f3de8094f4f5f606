/* SPDX-License-Identifier: Apache-2.0 */
/* The table that ina-perf prints, and its JSON. */
#ifndef INA_PERF_TABLE_H
#define INA_PERF_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "collective.h"

/* The result for one size and one algorithm. */
struct perf_result {
	enum ina_algorithm algorithm; /* the one that actually ran */
	double time_s;                /* of an all-reduce, mean */
	double wire_bytes;            /* of an all-reduce, sent by this host; negative: unknown */
	uint64_t wrong;               /* elements, over all ranks and iterations */
	uint64_t fallbacks;           /* times that the ring took over */
	uint64_t rejoins;             /* times that the aggregator was used again after that */
	uint64_t yields;              /* times that the job gave its context to another job */
};

struct perf_row {
	uint64_t bytes;
	uint64_t count;
	enum ina_type type;
	enum ina_op op;
	const char *model; /* the model to which the tensors belong, or NULL */
	bool checked;
	struct perf_result result;
	/* For flat ring, leader and parallel: the measurement, and the cost model's time in s. */
	struct perf_result schedules[3];
	double modelled_s[3];
	int picked; /* the schedule that is fastest by the model */
	bool has_schedules;
	bool compared;
	struct perf_result ring;
};

struct perf_head {
	int ranks;
	enum ina_call_kind collective;
	int root;
	bool compare;
	bool in_place;
	int iterations;
	uint64_t seed;
	double fixed_bound; /* largest allowed error of a float32 sum in fixed point; or 0 */
	double farthest;    /* largest error that rank 0 has seen */
	struct ina_stats stats;
};

/* Names as in nccl-tests. */
const char *perf_type_name(enum ina_type type);
const char *perf_op_name(enum ina_op op);

void perf_table_header(const struct perf_head *head);
void perf_table_row(const struct perf_head *head, const struct perf_row *row);

/*
 * Bandwidths in GB/s (10^9), as NCCL defines them: algbw is data over time, and busbw is algbw
 * times the share of the data that a link has to carry, for an all-reduce 2 (n - 1) / n.
 */
double perf_algbw(uint64_t bytes, double time_s);
double perf_busbw(const struct perf_head *head, uint64_t bytes, double time_s);

/* Writes all rows to a file. Returns 0, or -1 with errno. */
int perf_table_json(const char *path, const struct perf_head *head, const struct perf_row *rows,
                    size_t row_count);

#endif
