/* SPDX-License-Identifier: Apache-2.0 */
/* The options of libina, as it would use them: from files, the environment and the program. */
#ifndef INA_PERF_LIBRARY_OPTIONS_H
#define INA_PERF_LIBRARY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "hostlib/include/ina.h"

/* Prints a table of all options. Returns the status of ina_options_explain(). */
enum ina_status library_options_print(const struct ina_options *options);

/*
 * Writes the value that a file or the environment gives to a variable. Returns false if they give
 * none, or if an option is wrong, which ina_open() reports.
 */
bool library_options_value(const char *variable, char *value, size_t size);

#endif
