/* SPDX-License-Identifier: Apache-2.0 */
/* The options that name files. */
#ifndef INA_BRIDGE_FILE_OPTIONS_H
#define INA_BRIDGE_FILE_OPTIONS_H

#include <argp.h>

#include "options.h"

/*
 * Decides which cables are captured, and in which files. All options have been read, and the
 * topology is known. If the options contradict each other, ends the program with one line.
 */
void file_options_check(struct argp_state *state, struct options *options);

/* Reads the value of --control-mode. */
unsigned file_options_read_mode(struct argp_state *state, const char *text);

#endif
