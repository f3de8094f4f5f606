/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a communicator with the options of the command line. */
#ifndef INA_PERF_OPEN_H
#define INA_PERF_OPEN_H

#include "perf_options.h"

/* Sets libina's options as the command line says, but with this algorithm and schedule. */
void perf_fill_options(const struct perf_options *perf, enum ina_algorithm algorithm,
                       enum ina_schedule schedule, struct ina_options *options);

/*
 * Calls ina_open() with the options of the command line, but with this algorithm and schedule.
 * `why` is as for ina_open().
 */
enum ina_status perf_open(const struct perf_options *perf, enum ina_algorithm algorithm,
                          enum ina_schedule schedule, ina_comm **comm, char *why, size_t why_size);

#endif
