/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a run's need of memory and open files with the machine, before anything starts. */
#ifndef INA_LAB_RESOURCES_H
#define INA_LAB_RESOURCES_H

#include <stdbool.h>

/*
 * A host's memory in MiB if the user gives none. It is the same on every machine, because a host's
 * behaviour in virtual time depends on it.
 */
int lab_resources_host_memory_mib(int host_count);

/* The memory that a host takes in addition, for its kernel's processes on the machine, in MiB. */
#define LAB_HOST_EXTRA_MIB 4

/* QEMU's memory for translated code, and all that it takes in addition to the guest's, in MiB. */
#define LAB_QEMU_CODE_MIB  "64"
#define LAB_QEMU_EXTRA_MIB 160

/* With less than this, a distribution's kernel does not boot. */
#define LAB_QEMU_MEMORY_LEAST_MIB 192

/* A place for the memory of all hosts. */
struct lab_memory {
	const char *path;              /* NULL: no place has enough room */
	unsigned long long need_bytes; /* needed if the hosts touch all of their memory */
	unsigned long long free_bytes; /* free at `path`, or at the place that has the most */
};

/*
 * Looks for a file system that has room for the memory of that many hosts of that size, of which
 * `qemu_count` are QEMU machines, and lets it be mapped executable: /dev/shm, TMPDIR, /tmp or
 * /var/tmp. The room on a file system in the machine's memory is at most the memory that is
 * available.
 */
struct lab_memory lab_resources_find_memory(int host_count, int memory_mib, int qemu_count);

/*
 * Raises the limit of open files, for this process and the processes that it starts, as far as they
 * need. Prints one line and returns false if that is not allowed.
 */
bool lab_resources_raise_descriptors(int host_count);

#endif
