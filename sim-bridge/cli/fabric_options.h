/* SPDX-License-Identifier: Apache-2.0 */
/* The options that ina-lab also has, and the fabric that they describe. */
#ifndef INA_BRIDGE_FABRIC_OPTIONS_H
#define INA_BRIDGE_FABRIC_OPTIONS_H

#include <argp.h>

#include "common/bridge_options.h"
#include "options.h"

/* Takes an option. An error ends the program with one line. */
void fabric_options_take(struct argp_state *state, struct options *options,
                         const struct bridge_option *option);

/* All options have been read: opens the topology, and gives each switch and cable its values. */
void fabric_options_build(struct argp_state *state, struct options *options);

#endif
