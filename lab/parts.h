/* SPDX-License-Identifier: Apache-2.0 */
/* The files that hosts are made of. */
#ifndef INA_LAB_PARTS_H
#define INA_LAB_PARTS_H

#include <limits.h>
#include <stdbool.h>

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

/* Returns false, with one line on stderr, if one of the files cannot be executed. */
bool lab_parts_check(const struct lab_parts *parts);

#endif
