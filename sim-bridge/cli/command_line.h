/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of ina-bridge. */
#ifndef INA_BRIDGE_COMMAND_LINE_H
#define INA_BRIDGE_COMMAND_LINE_H

#include "options.h"

/*
 * If the command line is invalid, ends the program with one line on stderr. The caller closes the
 * topology and the recording.
 */
void options_parse(struct options *options, int argc, char **argv);

#endif
