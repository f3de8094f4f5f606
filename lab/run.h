/* SPDX-License-Identifier: Apache-2.0 */
/* A run: n hosts round a bridge, a command on each, from the start to the last trace of it gone. */
#ifndef INA_LAB_RUN_H
#define INA_LAB_RUN_H

#include <limits.h>

#include "options.h"

/* Where the kernel and the first process of the hosts are. */
struct lab_parts {
	char kernel[PATH_MAX];
	char guest_init[PATH_MAX];
};

/* INA_KERNEL and INA_GUEST_INIT in the environment; or the place where `make kernel` puts it, and
 * guest-init from the build folder. The paths may name files that are not there. */
struct lab_parts lab_parts_find(void);

/* Runs the command and returns the exit code for ina-lab. Says on stderr what went wrong. */
int lab_run(const struct lab_options *options);

#endif
