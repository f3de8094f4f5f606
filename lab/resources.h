/* SPDX-License-Identifier: Apache-2.0 */
/* What a run needs of the machine, held against what there is before anything starts. */
#ifndef INA_LAB_RESOURCES_H
#define INA_LAB_RESOURCES_H

#include <stdbool.h>

/* A host's memory in MiB where the user gives none: the same on every machine, since it decides
 * what a host does in virtual time. */
int lab_resources_host_memory_mib(int host_count);

/* What one host takes beside its own memory, for its kernel's processes on the machine. */
#define LAB_HOST_EXTRA_MIB 4

/* A place for the memory of all hosts. */
struct lab_memory {
	const char *path;              /* NULL: none has room for it */
	unsigned long long need_bytes; /* where the hosts touch all of their memory */
	unsigned long long free_bytes; /* at `path`, or the most that was found */
};

/*
 * Looks for a file system that has room for that many hosts of that size, and lets their memory be
 * mapped executable: /dev/shm, TMPDIR, /tmp or /var/tmp. One that lies in the machine's memory has
 * room for what is free of that.
 */
struct lab_memory lab_resources_find_memory(int host_count, int memory_mib);

/* Lets this process and those that it starts open as many files as they need. Prints one line and
 * returns false where that is not allowed. */
bool lab_resources_raise_descriptors(int host_count);

#endif
