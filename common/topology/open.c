/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a topology, then checks the properties that only the whole has. */
#include "open.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "file.h"
#include "routes.h"
#include "spec.h"

/* Every host must have a path to every other host. */
static bool check_ways(const struct topology *topology, char *error)
{
	struct topology_routes routes;

	if (topology_routes_open(&routes, topology) != 0) {
		snprintf(error, TOPOLOGY_ERROR_BYTES, "out of memory");
		return false;
	}
	for (unsigned from = 0; from < topology->host_count; from++)
		for (unsigned to = 0; to < topology->host_count; to++) {
			const unsigned place = topology->host_switch[from];

			if (topology_route(&routes, place, to)->count)
				continue;
			snprintf(error, TOPOLOGY_ERROR_BYTES,
			         "no path up and down from host %u (at '%s') to host %u (at '%s')",
			         from, topology->switches[place].name, to,
			         topology->switches[topology->host_switch[to]].name);
			topology_routes_close(&routes);
			return false;
		}
	topology_routes_close(&routes);
	return true;
}

struct topology *topology_open(const char *text, char error[TOPOLOGY_ERROR_BYTES])
{
	char what[TOPOLOGY_ERROR_BYTES] = "out of memory";
	struct topology *topology = calloc(1, sizeof(*topology));

	if (topology &&
	    (topology_is_spec(text) ? topology_read_spec(topology, text, what)
	                            : topology_read_file(topology, text, what)) &&
	    check_ways(topology, what))
		return topology;
	topology_close(topology);
	/* If the name of a file is long, its end is the part that identifies it. */
	const size_t length = strlen(text);
	const char *name = length > 128 ? text + length - 128 : text;

	snprintf(error, TOPOLOGY_ERROR_BYTES, "topology %s: %.*s", name, 360, what);
	/* Names in a file may contain any characters, and the line goes to a terminal. */
	for (char *at = error; *at; at++)
		if (iscntrl((unsigned char)*at))
			*at = '?';
	return NULL;
}

struct topology *topology_open_single(unsigned hosts)
{
	struct topology *topology = calloc(1, sizeof(*topology));
	char error[TOPOLOGY_ERROR_BYTES];
	bool good = topology && topology_add_switch(topology, "leaf0", error);

	for (unsigned host = 0; good && host < hosts; host++)
		good = topology_add_host(topology, 0, host, error);
	if (good && topology_finish(topology, TOPOLOGY_HOSTS_MAX, error))
		return topology;
	topology_close(topology);
	return NULL;
}
