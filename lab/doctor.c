/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this machine is ready for a run: one line for each thing that it needs. */
#include "doctor.h"
#include "bridge.h"
#include "options.h"
#include "run.h"
#include "workspace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Four hosts of the default size, the demo. */
#define DEMO_MEMORY_MIB (4 * 512)

static bool say(bool good, const char *what, const char *detail, const char *remedy)
{
	printf("%-4s %-12s %s%s%s\n", good ? "ok" : "BAD", what, detail, good ? "" : ": ",
	       good ? "" : remedy);
	return good;
}

int lab_doctor(void)
{
	const struct lab_parts parts = lab_parts_find();
	const char *memory_path =
	        lab_workspace_find_memory((unsigned long long)DEMO_MEMORY_MIB << 20);
	char bridge[PATH_MAX] = "?", memory[64];
	struct sysinfo info = {0};
	struct utsname machine = {0};
	bool good = true;

	uname(&machine);
	sysinfo(&info);
	snprintf(memory, sizeof(memory), "%llu MiB",
	         ((unsigned long long)info.totalram * info.mem_unit) >> 20);
	const bool bridge_found = lab_bridge_find(bridge);
	good &= say(!access(parts.kernel, X_OK), "kernel", parts.kernel, "run `make kernel`");
	good &= say(!access(parts.guest_init, X_OK), "guest-init", parts.guest_init,
	            "missing or not executable; or set INA_GUEST_INIT");
	good &= say(bridge_found, "bridge", bridge, "build it, or set INA_BRIDGE");
	good &= say(memory_path, "host memory",
	            memory_path ? memory_path : "/dev/shm, TMPDIR, /tmp",
	            "no room there for four hosts of 512 MiB");
	good &= say(((unsigned long long)info.totalram * info.mem_unit) >> 20 >= DEMO_MEMORY_MIB,
	            "memory", memory, "little for four hosts of 512 MiB");
	if (fflush(stdout)) {
		fprintf(stderr, "ina-lab: cannot write what doctor found: %s\n", strerror(errno));
		good = false;
	}
	return good ? 0 : LAB_EXIT_FAILED;
}
