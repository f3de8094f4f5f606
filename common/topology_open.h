/* SPDX-License-Identifier: Apache-2.0 */
/* A topology from what a command line says of it. */
#ifndef INA_COMMON_TOPOLOGY_OPEN_H
#define INA_COMMON_TOPOLOGY_OPEN_H

#include "topology.h"

/*
 * Reads `leaf-spine:LEAVESxHOSTS`, `tree:AxB...xHOSTS`, `clos:SPINESxLEAVESxHOSTS`,
 * `fat-tree:K`, or a file. NULL, with one line in `error`, where that is no fabric. To be closed by
 * the caller.
 */
struct topology *topology_open(const char *text, char error[TOPOLOGY_ERROR_BYTES]);

/* One switch, and as many hosts. NULL: out of memory. */
struct topology *topology_open_single(unsigned hosts);

#endif
