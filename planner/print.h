/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a result as text or as JSON. */
#ifndef INA_PLANNER_PRINT_H
#define INA_PLANNER_PRINT_H

#include <stdio.h>

#include "plan.h"

/* Names from the command line, for the lines that say how to run the lab. */
struct plan_names {
	const char *fabric;
	const char *jobs; /* NULL if the jobs are not in a file that a command could name */
};

void plan_print_text(FILE *file, const struct plan_result *result, const struct plan_names *names);
void plan_print_json(FILE *file, const struct plan_result *result, const struct plan_names *names);

#endif
