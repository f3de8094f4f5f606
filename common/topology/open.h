/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the topology that a command line describes. */
#ifndef INA_COMMON_TOPOLOGY_OPEN_H
#define INA_COMMON_TOPOLOGY_OPEN_H

#include "topology.h"

/*
 * Reads `leaf-spine:LEAVESxHOSTS`, `tree:AxB...xHOSTS`, `clos:SPINESxLEAVESxHOSTS`, `fat-tree:K`,
 * or a file. Returns NULL, with one line in `error`, if the text does not describe a valid fabric.
 * The caller calls topology_close().
 */
struct topology *topology_open(const char *text, char error[TOPOLOGY_ERROR_BYTES]);

/* Returns a topology of one switch with `hosts` hosts, or NULL if there is no memory. */
struct topology *topology_open_single(unsigned hosts);

#endif
