/* SPDX-License-Identifier: Apache-2.0 */
/* The regular fabrics, described by their numbers. */
#ifndef INA_COMMON_TOPOLOGY_SPEC_H
#define INA_COMMON_TOPOLOGY_SPEC_H

#include "topology.h"

#define TOPOLOGY_SPECS                                                                             \
	"leaf-spine:LEAVESxHOSTS, tree:AxB...xHOSTS, clos:SPINESxLEAVESxHOSTS, fat-tree:K"

/* True if `text` begins with the name of a kind of fabric and a colon. */
bool topology_is_spec(const char *text);

/* Returns false, with one line in `error`, if the text does not describe a fabric. */
bool topology_read_spec(struct topology *topology, const char *text, char *error);

#endif
