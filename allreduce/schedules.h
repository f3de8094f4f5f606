/* SPDX-License-Identifier: Apache-2.0 */
/* ina-perf on machines with several ranks: compares three schedules and the cost model. */
#ifndef INA_SCHEDULES_H
#define INA_SCHEDULES_H

#include "perf_run.h"

/*
 * perf->comm is the flat ring. Measures the model's parameters that were not given, and prints the
 * head of the table. Collective. Returns 0, or -1 after a printed error.
 */
int schedules_open(struct perf *perf);
void schedules_close(struct perf *perf);

/*
 * Runs one size, with all three schedules or with the one that the model picks, and prints its row.
 * Returns 0 or -1.
 */
int schedules_run(struct perf *perf, struct perf_row *row, const size_t *counts, size_t tensors);

#endif
