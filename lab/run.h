/* SPDX-License-Identifier: Apache-2.0 */
/* A run: n hosts around a bridge and a command on each, from the start to complete cleanup. */
#ifndef INA_LAB_RUN_H
#define INA_LAB_RUN_H

#include "run_options.h"

/* Runs the command and returns the exit code for ina-lab. Reports errors on stderr. */
int lab_run(const struct lab_options *options);

#endif
