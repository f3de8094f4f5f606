/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether this machine is ready for a run, and prints one line for each requirement. */
#include "doctor.h"
#include "bridge.h"
#include "parts.h"
#include "resources.h"
#include "run_options.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define DEMO_HOSTS 4

static bool say(bool good, const char *what, const char *detail, const char *remedy)
{
	printf("%-4s %-12s %s%s%s\n", good ? "ok" : "BAD", what, detail, good ? "" : ": ",
	       good ? "" : remedy);
	return good;
}

int lab_doctor(void)
{
	const struct lab_parts parts = lab_parts_find();
	const struct lab_memory memory =
	        lab_resources_find_memory(DEMO_HOSTS, lab_resources_host_memory_mib(DEMO_HOSTS), 0);
	char bridge[PATH_MAX] = "?", place[PATH_MAX];
	bool good = true;

	snprintf(place, sizeof(place), "%llu MiB in %s", memory.free_bytes >> 20,
	         memory.path ? memory.path : "/dev/shm, TMPDIR or /tmp");
	const bool bridge_found = lab_bridge_find(bridge);
	good &= say(!access(parts.kernel, X_OK), "kernel", parts.kernel, "run `make kernel`");
	good &= say(!access(parts.guest_init, X_OK), "guest-init", parts.guest_init,
	            "missing or not executable; or set INA_GUEST_INIT");
	good &= say(bridge_found, "bridge", bridge, "build it, or set INA_BRIDGE");
	good &= say(memory.path, "host memory", place, "too little for four hosts of 512 MiB");
	return good ? 0 : LAB_EXIT_FAILED;
}
