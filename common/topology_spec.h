/* SPDX-License-Identifier: Apache-2.0 */
/* The regular fabrics, by their numbers. */
#ifndef INA_COMMON_TOPOLOGY_SPEC_H
#define INA_COMMON_TOPOLOGY_SPEC_H

#include "topology.h"

#define TOPOLOGY_SPECS                                                                             \
	"leaf-spine:LEAVESxHOSTS, tree:AxB...xHOSTS, clos:SPINESxLEAVESxHOSTS, fat-tree:K"

/* Whether `text` begins with a kind's name and a colon. */
bool topology_is_spec(const char *text);

/* False, with one line in `error`, where it describes no fabric. */
bool topology_read_spec(struct topology *topology, const char *text, char *error);

#endif
