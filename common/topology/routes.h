/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths through a fabric, computed once. A path leads from a switch to a host, up as far as
 * necessary and then down, over the fewest cables. A frame that goes down never goes up again, so
 * it cannot loop. If several paths have the same length, the route has several ports.
 */
#ifndef INA_COMMON_TOPOLOGY_ROUTES_H
#define INA_COMMON_TOPOLOGY_ROUTES_H

#include "topology.h"

struct topology_route {
	unsigned count; /* 0: there is no path */
	unsigned short ports[TOPOLOGY_PORTS_MAX];
};

struct topology_routes {
	const struct topology *topology;
	struct topology_route *routes;
	/* A spanning tree: it connects every switch and every host by exactly one path. */
	bool in_tree[TOPOLOGY_CABLES_MAX];
};

/* The caller keeps `topology` for as long as the routes. Returns 0, or -1 with errno ENOMEM. */
int topology_routes_open(struct topology_routes *routes, const struct topology *topology);
void topology_routes_close(struct topology_routes *routes);

/* The route from switch `from` to a host. */
const struct topology_route *topology_route(const struct topology_routes *routes, unsigned from,
                                            unsigned host);

#endif
