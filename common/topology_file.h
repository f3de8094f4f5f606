/* SPDX-License-Identifier: Apache-2.0 */
/* A fabric from a file, in JSON; see lab/README.md. */
#ifndef INA_COMMON_TOPOLOGY_FILE_H
#define INA_COMMON_TOPOLOGY_FILE_H

#include "topology.h"

/* False, with one line in `error`, where it describes none. */
bool topology_read_file(struct topology *topology, const char *path, char *error);

#endif
