/* SPDX-License-Identifier: Apache-2.0 */
/* How a topology is put together, switch by switch, then finished. */
#ifndef INA_COMMON_TOPOLOGY_BUILD_H
#define INA_COMMON_TOPOLOGY_BUILD_H

#include "topology.h"

/* All return false, with one line in `error`, where that cannot be. */

/* Its number is switch_count before. */
bool topology_add_switch(struct topology *topology, const char *name, char *error);
bool topology_add_host(struct topology *topology, unsigned place, unsigned host, char *error);
bool topology_add_uplink(struct topology *topology, unsigned lower, unsigned upper, char *error);

/* Levels, ports and cables. `ports_most`: of a switch. */
bool topology_finish(struct topology *topology, unsigned ports_most, char *error);

#endif
