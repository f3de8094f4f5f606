/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a fabric from a file in JSON; see lab/README.md. */
#ifndef INA_COMMON_TOPOLOGY_FILE_H
#define INA_COMMON_TOPOLOGY_FILE_H

#include "topology.h"

/* Returns false, with one line in `error`, if the file does not describe a fabric. */
bool topology_read_file(struct topology *topology, const char *path, char *error);

#endif
