/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of one run: the hosts' orders, their kernels' logs, and the place where their memory
 * lies. It begins with the run and ends with it.
 */
#ifndef INA_LAB_WORKSPACE_H
#define INA_LAB_WORKSPACE_H

#include "options.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* In virtual time: the sockets in the folder, by which hosts have their network and their clock. */
#define LAB_NETWORK_SOCKET "network%d"
#define LAB_CLOCK_SOCKET   "clock"
/* Likewise: where rank 0 may write how much of its work is done, as a line like "42%". */
#define LAB_PROGRESS_FILE "progress"

struct lab_workspace {
	char path[PATH_MAX]; /* only letters, digits and /._+-: it goes into kernel arguments */
	char memory_path[PATH_MAX]; /* where the kernels keep the guests' memory, in unnamed files
	                             */
	unsigned long long memory_need_bytes; /* of all hosts, at most */
	unsigned long long memory_free_bytes;
};

/*
 * Makes the folder, in TMPDIR or /tmp, and writes the orders for all hosts into it. Prints one
 * line and returns false where that is not possible; what was made by then is removed.
 */
bool lab_workspace_create(struct lab_workspace *workspace, const struct lab_options *options,
                          const char *guest_init);

/* The MTU of a host's network device, in bytes, that gives the RoCE path MTU asked for. */
int lab_workspace_device_mtu(const struct lab_options *options);

/*
 * The clock of the machine's first processor in MHz, by /proc/cpuinfo, or 1000. A User Mode Linux
 * kernel states none, and perftest, which counts processor cycles, gives up without.
 */
double lab_workspace_machine_mhz(void);

/* Removes the folder and all that is in it, as far as it exists. */
void lab_workspace_remove(const char *path);

#endif
