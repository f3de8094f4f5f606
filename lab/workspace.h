/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of one run: the hosts' instructions, their kernels' logs, and the place of their
 * memory. It exists as long as the run.
 */
#ifndef INA_LAB_WORKSPACE_H
#define INA_LAB_WORKSPACE_H

#include "run_options.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Virtual time: the sockets in the folder to which hosts connect their network and their clock. */
#define LAB_NETWORK_SOCKET "network%d"
#define LAB_CLOCK_SOCKET   "clock"
/* Virtual time: the file in which rank 0 may write its share of work done, as a line like "42%". */
#define LAB_PROGRESS_FILE "progress"

struct lab_workspace {
	char path[PATH_MAX]; /* only letters, digits and /._+-: it goes into kernel arguments */
	char memory_path[PATH_MAX];           /* for unnamed files that hold the guests' memory */
	unsigned long long memory_need_bytes; /* the most that all hosts can take */
	unsigned long long memory_free_bytes;
};

/*
 * Makes the folder, in TMPDIR or /tmp, and writes the instructions for all hosts into it. On
 * failure, prints one line, removes what it has made, and returns false.
 */
bool lab_workspace_create(struct lab_workspace *workspace, const struct lab_options *options,
                          const char *guest_init);

/* The MTU of a host's network device, in bytes, that gives the requested RoCE path MTU. */
int lab_workspace_device_mtu(const struct lab_options *options);

/* The exponent of the ACK timeout of the hosts' connections: 4.096 us * 2^n. */
int lab_workspace_ack_timeout(const struct lab_options *options);

/*
 * The clock rate of the machine's first processor in MHz, from /proc/cpuinfo, or 1000. A User Mode
 * Linux kernel does not report one, and perftest, which counts processor cycles, needs it.
 */
double lab_workspace_machine_mhz(void);

/* Removes the folder and everything in it, if it exists. */
void lab_workspace_remove(const char *path);

#endif
