/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives that ina-perf measures, with nccl-tests' sizes and bandwidths. */
#ifndef INA_PERF_COLLECTIVE_H
#define INA_PERF_COLLECTIVE_H

#include <stdbool.h>

#include "pattern.h"

enum collective {
	COLLECTIVE_ALLREDUCE,
	COLLECTIVE_REDUCE_SCATTER,
	COLLECTIVE_ALL_GATHER,
	COLLECTIVE_BROADCAST,
	COLLECTIVE_REDUCE,
	COLLECTIVE_BARRIER,
};

/* One call of it. */
struct collective_call {
	enum collective which;
	int rank;
	int ranks;
	int root;
	uint8_t *send;
	uint8_t *recv; /* the same: in place */
	size_t count;  /* elements as the call has them: of a block, where there are blocks */
};

/* The one of that name; false: there is none. */
bool collective_find(const char *name, enum collective *which);
const char *collective_name(enum collective which);

/* Does it combine elements, or only move them? Has it a root? */
bool collective_combines(enum collective which);
bool collective_has_root(enum collective which);

/*
 * A size is that of all blocks together (nccl-tests, doc/PERFORMANCE.md). How many elements a call
 * has of so many; and the other way round.
 */
size_t collective_count(enum collective which, size_t elements, int ranks);
size_t collective_elements(enum collective which, size_t count, int ranks);

/* What the size over the time is multiplied by to be busbw. */
double collective_bus_factor(enum collective which, int ranks);

/* Fresh data; the call; how many elements are wrong at this rank, as pattern_check(). */
void collective_fill(const struct collective_call *call, const struct pattern *pattern);
enum ina_status collective_run(const struct collective_call *call, ina_comm *comm,
                               enum ina_type type, enum ina_op op);
uint64_t collective_check(const struct collective_call *call, const struct pattern *pattern,
                          size_t *first, double *farthest);

#endif
