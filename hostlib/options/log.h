/* SPDX-License-Identifier: Apache-2.0 */
/* Lines about what a communicator is at, for those who asked for them. */
#ifndef INA_OPTIONS_LOG_H
#define INA_OPTIONS_LOG_H

#include "error.h"

struct ina_comm;

/* INA_LOG in the environment: "info" or "off". INA_OK or INA_ERR_ARGUMENT. */
enum ina_status ina_log_open(struct ina_comm *comm, struct ina_failure *failure);

/* A line to the caller's log function; without one to stderr, where INA_LOG is "info". */
void ina_log(const struct ina_comm *comm, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* The line of an open communicator: device, GID, MTU, neighbours, aggregator. */
void ina_log_opened(const struct ina_comm *comm);

#endif
