/* SPDX-License-Identifier: Apache-2.0 */
/* The options that name ports. An error ends the program with one line. */
#ifndef INA_BRIDGE_PORT_OPTIONS_H
#define INA_BRIDGE_PORT_OPTIONS_H

#include <argp.h>

#include "options.h"

/* Reads fd=N. `others`: the values besides it that the option takes. */
int port_options_read_fd(struct argp_state *state, const char *option, const char *text,
                         const char *others);

/* Takes a --port. */
void port_options_take(struct argp_state *state, struct options *options, const char *text);

/* All options have been read: only then is it known whether the run is in virtual time. */
void port_options_check(struct argp_state *state, struct options *options);

#endif
