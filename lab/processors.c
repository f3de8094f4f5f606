/* SPDX-License-Identifier: Apache-2.0 */
/* The bridge gets the processor on which ina-lab is running when it starts the bridge. */
#include "processors.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

void lab_processors_share(const struct lab_options *options, pid_t bridge)
{
	const int ours = sched_getcpu();
	cpu_set_t all, one, others;

	if (ours < 0 || sched_getaffinity(0, sizeof(all), &all) != 0)
		return;
	CPU_ZERO(&one);
	CPU_SET(ours, &one);
	others = all;
	CPU_CLR(ours, &others);
	if (!options->is_virtual && strcmp(options->aggregator, "rtl") == 0 &&
	    CPU_COUNT(&others) > 0) {
		sched_setaffinity(bridge, sizeof(one), &one);
		sched_setaffinity(0, sizeof(others), &others);
	}
}

void lab_processors_gather(pid_t process)
{
	const int ours = sched_getcpu();
	char path[64];
	cpu_set_t one;
	pid_t child;

	if (ours < 0)
		return;
	CPU_ZERO(&one);
	CPU_SET(ours, &one);
	sched_setaffinity(process, sizeof(one), &one);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", process, process);
	FILE *children = process ? fopen(path, "re") : NULL;
	while (children && fscanf(children, "%d", &child) == 1)
		sched_setaffinity(child, sizeof(one), &one);
	if (children)
		fclose(children);
}
