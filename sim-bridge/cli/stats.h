/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that was counted, as one JSON object. Of several switches it has the sums, then each
 * switch and each cable between them by its name.
 */
#ifndef INA_BRIDGE_STATS_H
#define INA_BRIDGE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sim-bridge/switch/fabric.h"
#include "options.h"
#include "sim-bridge/switch/port_counts.h"
#include "sim-bridge/virtual/virtual_time.h"

/*
 * Creates the file, so that a path that cannot be written is found at the start.
 * NULL, with one line in `error`, where that fails.
 */
FILE *stats_create(const char *path, char *error, size_t error_bytes);

/*
 * Writes the file and closes it. `time`: NULL in real time. False, with errno, if not all could be
 * written.
 */
bool stats_write(FILE *file, const struct options *options, const struct fabric *fabric,
                 const struct port_counts *const ports[BRIDGE_PORTS_MAX],
                 const struct virtual_time *time);

#endif
