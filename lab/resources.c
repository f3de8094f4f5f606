/* SPDX-License-Identifier: Apache-2.0 */
/* Reads free memory from file systems and /proc/meminfo, and open files from process limits. */
#include "resources.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define HOST_MEMORY_MIB 512
/* Many hosts share the memory that 16 hosts of the full size have. */
#define ALL_MEMORY_MIB (16 * HOST_MEMORY_MIB)
/* With less, a host does not have room for both Python and the files that it reads. */
#define HOST_MEMORY_LEAST_MIB 72

/*
 * Descriptors for each host. In virtual time the bridge has four: the listening socket of the
 * host's network device, the device, the socket to interrupt the device, and the clock. ina-lab has
 * up to five: the two ends of a link until the host has its own, two consoles, and the messages.
 * The child that becomes the bridge has copies of the links for a moment.
 */
#define DESCRIPTORS_A_HOST 5
#define DESCRIPTORS_BESIDE 64

int lab_resources_host_memory_mib(int host_count)
{
	const int share = ALL_MEMORY_MIB / host_count / 8 * 8;

	if (share > HOST_MEMORY_MIB)
		return HOST_MEMORY_MIB;
	return share > HOST_MEMORY_LEAST_MIB ? share : HOST_MEMORY_LEAST_MIB;
}

/* Memory that programs can get without swapping, and the free swap space. */
static unsigned long long available_memory_bytes(void)
{
	static const char *const names[] = {"MemAvailable:", "SwapFree:"};
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long sum = 0, kib;
	char line[256], name[64];

	while (file && fgets(line, sizeof(line), file))
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (sscanf(line, "%63s %llu", name, &kib) == 2 && !strcmp(name, names[i]))
				sum += kib << 10;
	if (file)
		fclose(file);
	return sum;
}

/* Free bytes for memory that can be mapped executable; 0 if the path cannot be used for that. */
static unsigned long long room_at(const char *path)
{
	struct statvfs fs;
	struct statfs kind;

	if (!path || path[0] != '/' || access(path, W_OK) || statvfs(path, &fs) ||
	    statfs(path, &kind) || fs.f_flag & ST_NOEXEC)
		return 0;
	const unsigned long long room = (unsigned long long)fs.f_bavail * fs.f_frsize;
	const unsigned long long memory = available_memory_bytes();
	const bool is_memory = kind.f_type == TMPFS_MAGIC && memory;

	return is_memory && memory < room ? memory : room;
}

struct lab_memory lab_resources_find_memory(int host_count, int memory_mib, int qemu_count)
{
	const char *const candidates[] = {"/dev/shm", getenv("TMPDIR"), "/tmp", "/var/tmp"};
	struct lab_memory memory = {
	        .need_bytes = ((unsigned long long)host_count *
	                               (unsigned)(memory_mib + LAB_HOST_EXTRA_MIB) +
	                       (unsigned)qemu_count * LAB_QEMU_EXTRA_MIB)
	                      << 20,
	};

	for (size_t i = 0; i < sizeof(candidates) / sizeof(*candidates); i++) {
		const unsigned long long room = room_at(candidates[i]);

		if (room > memory.free_bytes)
			memory.free_bytes = room;
		if (room >= memory.need_bytes) {
			memory.free_bytes = room;
			memory.path = candidates[i];
			break;
		}
	}
	return memory;
}

bool lab_resources_raise_descriptors(int host_count)
{
	const rlim_t need = (rlim_t)host_count * DESCRIPTORS_A_HOST + DESCRIPTORS_BESIDE;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return true;
	limit.rlim_cur = need;
	if (limit.rlim_max >= need && !setrlimit(RLIMIT_NOFILE, &limit))
		return true;
	fprintf(stderr,
	        "ina-lab: %d hosts need %llu open files, but the hard limit is %llu: raise it "
	        "(ulimit -Hn), or use fewer hosts\n",
	        host_count, (unsigned long long)need, (unsigned long long)limit.rlim_max);
	return false;
}
