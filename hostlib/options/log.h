/* SPDX-License-Identifier: Apache-2.0 */
/* Lines about what a communicator does, for callers who asked for them. */
#ifndef INA_OPTIONS_LOG_H
#define INA_OPTIONS_LOG_H

#include "error.h"

struct ina_log {
	void (*write)(void *context, const char *line); /* the caller's; NULL: none */
	void *context;
	bool to_stderr; /* INA_LOG */
	int rank;
	int ranks;
};

/* From the options and INA_LOG ("info" or "off"). INA_OK or INA_ERR_ARGUMENT. */
enum ina_status ina_log_open(struct ina_log *log, const struct ina_options *options,
                             struct ina_failure *failure);

/* A line to the caller's log function; without one to stderr, where INA_LOG is "info". */
void ina_log(const struct ina_log *log, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

#endif
