/* SPDX-License-Identifier: Apache-2.0 */
/* A run: n hosts round a bridge, a command on each, from the start to the last trace of it gone. */
#ifndef INA_LAB_RUN_H
#define INA_LAB_RUN_H

#include "options.h"

/* Where the kernel and the first process of the hosts are. */
struct lab_parts {
	const char *kernel;
	const char *guest_init;
};

/* INA_KERNEL in the environment, or the place where `make kernel` puts it; guest-init from the
 * source folder. The paths may name files that are not there. */
struct lab_parts lab_parts_find(void);

/* Runs the command and returns the exit code for ina-lab. Says on stderr what went wrong. */
int lab_run(const struct lab_options *options);

#endif
