/* SPDX-License-Identifier: Apache-2.0 */
/* A run: n hosts around a bridge and a command on each, from the start to complete cleanup. */
#ifndef INA_LAB_RUN_H
#define INA_LAB_RUN_H

#include <limits.h>

#include "run_options.h"

/* The paths of the hosts' kernel and of their first process. */
struct lab_parts {
	char kernel[PATH_MAX];
	char guest_init[PATH_MAX];
};

/*
 * Reads INA_KERNEL and INA_GUEST_INIT from the environment. The defaults are the kernel that `make
 * kernel` builds and guest-init from the build folder. The files may not exist.
 */
struct lab_parts lab_parts_find(void);

/* Runs the command and returns the exit code for ina-lab. Reports errors on stderr. */
int lab_run(const struct lab_options *options);

#endif
