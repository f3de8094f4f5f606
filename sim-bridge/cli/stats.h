/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes all counters as one JSON object. With several switches the object has the sums, then one
 * member for each switch and each cable between switches, under its name.
 */
#ifndef INA_BRIDGE_STATS_H
#define INA_BRIDGE_STATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sim-bridge/switch/fabric.h"
#include "command_line.h"
#include "sim-bridge/switch/port_counts.h"
#include "sim-bridge/virtual/virtual_time.h"

/* Returns the object. `time`: NULL in real time. The caller owns it. */
json_t *stats_make(const struct options *options, const struct fabric *fabric,
                   const struct port_counts *const ports[BRIDGE_PORTS_MAX],
                   const struct virtual_time *time);

/*
 * Creates the file, so that a path that cannot be written is reported at the start.
 * Returns NULL, with one line in `error`, if it cannot create the file.
 */
FILE *stats_create(const char *path, char *error, size_t error_bytes);

/*
 * Writes the file and closes it. `time`: NULL in real time. Returns false, with errno, if it could
 * not write everything.
 */
bool stats_write(FILE *file, const struct options *options, const struct fabric *fabric,
                 const struct port_counts *const ports[BRIDGE_PORTS_MAX],
                 const struct virtual_time *time);

#endif
