/* SPDX-License-Identifier: Apache-2.0 */
/* The part of ina-bridge's command line that is about virtual time. */
#ifndef INA_BRIDGE_VIRTUAL_OPTIONS_H
#define INA_BRIDGE_VIRTUAL_OPTIONS_H

#include <argp.h>

#include "sim-bridge/virtual/virtual_time.h"

/* What these options fill in. */
struct virtual_options {
	struct virtual_config time;
	uint64_t switch_delay_ns;
};

/* A child of ina-bridge's parser, whose input is a struct virtual_options. */
extern const struct argp virtual_argp;

void virtual_options_init(struct virtual_options *options);

#endif
