/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a communicator as the command line asks for it. */
#ifndef INA_PERF_OPEN_H
#define INA_PERF_OPEN_H

#include "perf_options.h"

/* As ina_open(), with the options of the command line but this algorithm and schedule; `why` as
 * there. */
enum ina_status perf_open(const struct perf_options *perf, enum ina_algorithm algorithm,
                          enum ina_schedule schedule, ina_comm **comm, char *why, size_t why_size);

#endif
