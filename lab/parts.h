/* SPDX-License-Identifier: Apache-2.0 */
/* The files that hosts are made of. */
#ifndef INA_LAB_PARTS_H
#define INA_LAB_PARTS_H

#include <limits.h>
#include <stdbool.h>

/* The paths of the hosts' kernel, if no option gives one, of their first process, and of QEMU. */
struct lab_parts {
	char kernel[PATH_MAX];
	char guest_init[PATH_MAX];
	char qemu[PATH_MAX];
	bool has_kvm; /* QEMU uses KVM; lab_run() sets it */
};

/*
 * Reads INA_KERNEL, INA_GUEST_INIT and INA_QEMU from the environment. The defaults are the kernel
 * that `make kernel` builds, guest-init from the build folder, and /usr/bin/qemu-system-x86_64. The
 * files may not exist.
 */
struct lab_parts lab_parts_find(void);

/* Returns false, with one line on stderr, if a file is missing for a host with this kernel. */
bool lab_parts_check(const struct lab_parts *parts, const char *kernel, bool is_qemu);

#endif
