/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways through a fabric, worked out once: from each switch to each host, up as far as need be
 * and then down, by the least number of cables. What goes down never goes up again, so nothing goes
 * round. Several ways of the same length are a choice of ports.
 */
#ifndef INA_COMMON_TOPOLOGY_ROUTES_H
#define INA_COMMON_TOPOLOGY_ROUTES_H

#include "topology.h"

struct topology_route {
	unsigned count; /* 0: there is no way */
	unsigned short ports[TOPOLOGY_PORTS_MAX];
};

struct topology_routes {
	const struct topology *topology;
	struct topology_route *routes;
	/* Cables that reach every host from every switch, in one way only. */
	bool in_tree[TOPOLOGY_CABLES_MAX];
};

/* `topology` is to outlive it. 0, or -1 with errno ENOMEM. */
int topology_routes_open(struct topology_routes *routes, const struct topology *topology);
void topology_routes_close(struct topology_routes *routes);

/* From a switch to a host. */
const struct topology_route *topology_route(const struct topology_routes *routes, unsigned from,
                                            unsigned host);

#endif
