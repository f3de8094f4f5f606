/* SPDX-License-Identifier: Apache-2.0 */
/*
 *                     top (no aggregator)---- 9 Gb/s ---- host8, the server
 *                   /   |   \
 *                 S1    S2    S3              each adds 9 Gb/s
 *               / | \ \/ |\   | \
 *              0  1  2 3 4 5  6  7            all cables but the server's have 3 Gb/s
 *
 * GRID's worker W4, host 3 here, can reach both S1 and S2. A host has only one cable in our
 * fabrics, so host 3 is connected to a switch `either` without an aggregator, which has a cable to
 * each.
 */
#include "example.h"

#include <stdlib.h>
#include <string.h>

#include "common/topology/build.h"
#include "common/topology/settings.h"

static const char grid_jobs[] =
        "{\"link-rate\": \"3G\", \"processing\": \"9G\", \"jobs\":"
        " [{\"name\": \"grid\", \"hosts\": [0, 1, 2, 3, 4, 5, 6, 7], \"server\": 8}]}";

static bool build_grid(struct topology *topology)
{
	static const char *const names[] = {"top", "S1", "S2", "S3", "either"};
	static const unsigned places[] = {1, 1, 1, 4, 2, 2, 3, 3, 0};
	static const unsigned uplinks[][2] = {{1, 0}, {2, 0}, {3, 0}, {4, 1}, {4, 2}};
	static const char *const settings[] = {"top,aggregator=off", "either,aggregator=off",
	                                       "8,link-rate=9G"};
	char error[TOPOLOGY_ERROR_BYTES];
	bool good = true;

	for (unsigned i = 0; good && i < 5; i++)
		good = topology_add_switch(topology, names[i], error);
	for (unsigned host = 0; good && host < 9; host++)
		good = topology_add_host(topology, places[host], host, error);
	for (unsigned i = 0; good && i < 5; i++)
		good = topology_add_uplink(topology, uplinks[i][0], uplinks[i][1], error);
	good = good && topology_finish(topology, TOPOLOGY_PORTS_MAX, error);
	for (unsigned i = 0; good && i < 3; i++)
		good = topology_set(topology, settings[i], error);
	return good;
}

struct topology *plan_example_open(const char *name, const char **jobs)
{
	struct topology *topology;

	if (strcmp(name, "grid") != 0 || !(topology = calloc(1, sizeof(*topology))))
		return NULL;
	*jobs = grid_jobs;
	if (build_grid(topology))
		return topology;
	topology_close(topology);
	return NULL;
}
