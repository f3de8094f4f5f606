/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a topology switch by switch, then completes it. */
#ifndef INA_COMMON_TOPOLOGY_BUILD_H
#define INA_COMMON_TOPOLOGY_BUILD_H

#include "topology.h"

/* On an error, all functions return false, with one line in `error`. */

/* The new switch gets the number switch_count, which then grows by one. */
bool topology_add_switch(struct topology *topology, const char *name, char *error);
bool topology_add_host(struct topology *topology, unsigned place, unsigned host, char *error);
bool topology_add_uplink(struct topology *topology, unsigned lower, unsigned upper, char *error);

/* Computes levels, ports and cables. `ports_most`: the most ports that a switch may have. */
bool topology_finish(struct topology *topology, unsigned ports_most, char *error);

#endif
