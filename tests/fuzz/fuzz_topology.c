/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The description of a fabric, as a file and as numbers. Either it is refused with one line, or
 * every host has a path to every other host, and no path has a loop.
 *
 *   input = a byte, whose lowest bit says whether a file follows or the option's own text
 */
#define _GNU_SOURCE /* memfd_create() */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/topology/open.h"
#include "common/topology/routes.h"
#include "common/topology/settings.h"
#include "fuzz.h"

enum { CABLES_OF_A_WAY_MOST = 2 * TOPOLOGY_LEVELS_MAX, TEXT_MAX = 2048 };

static void check_cables(const struct topology *topology)
{
	for (unsigned i = 0; i < topology->cable_count; i++) {
		const struct topology_cable *cable = &topology->cables[i];
		const struct topology_switch *upper = &topology->switches[cable->upper];

		FUZZ_CHECK(topology_find_cable(topology, cable->name) == i);
		FUZZ_CHECK(cable->upper_port < upper->first_uplink &&
		           upper->cables[cable->upper_port] == i);
		if (cable->has_host) {
			FUZZ_CHECK(cable->lower == i && i < topology->host_count);
			continue;
		}
		const struct topology_switch *lower = &topology->switches[cable->lower];

		FUZZ_CHECK(lower->level < upper->level && upper->level <= TOPOLOGY_LEVELS_MAX);
		FUZZ_CHECK(cable->lower_port >= lower->first_uplink &&
		           lower->cables[cable->lower_port] == i);
	}
}

/* Takes the last of several paths. */
static void walk(const struct topology_routes *routes, unsigned at, unsigned host)
{
	const struct topology *topology = routes->topology;

	for (unsigned cables = 1;; cables++) {
		const struct topology_route *route = topology_route(routes, at, host);

		FUZZ_CHECK(cables <= CABLES_OF_A_WAY_MOST && route->count > 0);
		const struct topology_cable *cable =
		        &topology->cables[topology->switches[at]
		                                  .cables[route->ports[route->count - 1]]];

		if (cable->has_host) {
			FUZZ_CHECK(cable->lower == host);
			return;
		}
		at = cable->lower == at ? cable->upper : cable->lower;
	}
}

static void check(const struct topology *topology)
{
	struct topology_routes routes;

	FUZZ_CHECK(topology->host_count >= 2 && topology->host_count <= TOPOLOGY_HOSTS_MAX);
	for (unsigned i = 0; i < topology->switch_count; i++) {
		FUZZ_CHECK(topology->switches[i].ports >= 2);
		FUZZ_CHECK(topology->switches[i].ports <= TOPOLOGY_PORTS_MAX);
	}
	check_cables(topology);
	FUZZ_CHECK(topology_routes_open(&routes, topology) == 0);
	for (unsigned from = 0; from < topology->host_count; from++)
		for (unsigned to = 0; to < topology->host_count; to++)
			walk(&routes, topology->host_switch[from], to);
	topology_routes_close(&routes);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	char error[TOPOLOGY_ERROR_BYTES] = "", text[TEXT_MAX + 64] = "";
	int fd = -1;

	if (size < 1 || size > TEXT_MAX)
		return 0;
	if (input[0] & 1) {
		fd = memfd_create("topology", MFD_CLOEXEC);
		FUZZ_CHECK(fd >= 0 && write(fd, input + 1, size - 1) == (ssize_t)(size - 1));
		snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);
	} else {
		memcpy(text, input + 1, size - 1);
		if (!strchr(text, ':') || strchr(text, '/'))
			return 0; /* no file of this machine */
	}
	struct topology *topology = topology_open(text, error);

	if (fd >= 0)
		close(fd);
	if (topology) {
		check(topology);
		memcpy(text, input + 1, size - 1);
		text[size - 1] = '\0';
		if (!topology_set(topology, text, error))
			FUZZ_CHECK(error[0]);
	} else {
		FUZZ_CHECK(error[0]);
	}
	topology_close(topology);
	return 0;
}
