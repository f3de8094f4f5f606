/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the aggregator of a switch from the options. */
#ifndef INA_BRIDGE_ENGINES_H
#define INA_BRIDGE_ENGINES_H

#include <stddef.h>

#include "options.h"

/*
 * Returns NULL for a plain switch. Also returns NULL, with one line in `error`, if the aggregator
 * cannot be made. The caller closes it.
 */
struct engine *engines_make(const struct options *options, struct bridge *bridge, char *error,
                            size_t error_bytes);

#endif
