/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a fabric as a picture: hosts at the bottom, and a row of switches for each level. */
#ifndef INA_LAB_TOPOLOGY_SVG_H
#define INA_LAB_TOPOLOGY_SVG_H

#include <stdio.h>

#include "common/topology/topology.h"

void lab_topology_draw(const struct topology *topology, FILE *file);

#endif
