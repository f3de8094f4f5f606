/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives that ina-perf measures, with nccl-tests' sizes and bandwidths. */
#ifndef INA_PERF_COLLECTIVE_H
#define INA_PERF_COLLECTIVE_H

#include <stdbool.h>

#include "hostlib/tables/collectives.h"
#include "pattern.h"

/* One call of a collective. */
struct collective_call {
	enum ina_call_kind kind;
	int rank;
	int ranks;
	int root;
	uint8_t *send;
	uint8_t *recv; /* equal to `send` if in place */
	size_t count;  /* as in the call: the elements of one block, if there are blocks */
};

/* Finds a collective by the name in its row. Returns false if the name is unknown. */
bool collective_find(const char *name, enum ina_call_kind *kind);

/*
 * A size is that of all blocks together (nccl-tests, doc/PERFORMANCE.md). The first function
 * converts elements of this size to the `count` of a call; the second one converts back.
 */
size_t collective_count(enum ina_call_kind kind, size_t elements, int ranks);
size_t collective_elements(enum ina_call_kind kind, size_t count, int ranks);

/* busbw is the size divided by the time, times this factor. */
double collective_bus_factor(enum ina_call_kind kind, int ranks);

/*
 * Fill the buffers with new data; make the call; count the wrong elements at this rank, as
 * pattern_check() does.
 */
void collective_fill(const struct collective_call *call, const struct pattern *pattern);
enum ina_status collective_run(const struct collective_call *call, ina_comm *comm,
                               enum ina_type type, enum ina_op op);
uint64_t collective_check(const struct collective_call *call, const struct pattern *pattern,
                          size_t *first, double *farthest);

#endif
