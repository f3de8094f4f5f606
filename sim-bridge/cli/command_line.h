/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of ina-bridge. */
#ifndef INA_BRIDGE_COMMAND_LINE_H
#define INA_BRIDGE_COMMAND_LINE_H

#include "options.h"

/*
 * Reads the command line and its --config file. `file` is the object of that file if it has been
 * read already, or NULL. If the line or the file is invalid, ends the program with one line on
 * stderr.
 */
void options_parse(struct options *options, int argc, char **argv, json_t *file);

/*
 * Returns the settings in effect, by the names of their options: the defaults, those of the file,
 * and those of the command line. The caller owns them.
 */
json_t *options_settings(const json_t *file, const json_t *line);

/* Frees all that options_parse() has made. */
void options_close(struct options *options);

#endif
