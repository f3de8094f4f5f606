/* SPDX-License-Identifier: Apache-2.0 */
/* ina-perf over machines with several ranks: three schedules, and the cost model beside them. */
#ifndef INA_SCHEDULES_H
#define INA_SCHEDULES_H

#include "perf_run.h"

/*
 * perf->comm is the flat ring. Measures those parameters of the model that were not given, and
 * prints the head of the table. Collective. 0, or -1 with a line printed.
 */
int schedules_open(struct perf *perf);
void schedules_close(struct perf *perf);

/* Runs one size, by all three or by the one that the model picks, and prints its row. 0, or -1. */
int schedules_run(struct perf *perf, struct perf_row *row, const size_t *counts, size_t tensors);

#endif
