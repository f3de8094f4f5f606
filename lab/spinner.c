/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A User Mode Linux kernel runs each process of its guest in a traced process of the machine. A
 * traced process is stopped unless the guest's processor executes it. The guest's kernel has put
 * the name under which a program was executed at the very top of its stack, followed by eight zero
 * bytes.
 */
#include "spinner.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/parse.h"

#define PAGE_BYTES        4096
#define ZEROS_BEHIND_NAME 8

/* True if the process runs and is traced by the kernel. */
static bool is_running(pid_t pid, pid_t kernel_pid)
{
	char path[64], line[256], state = 0;
	int tracer = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "State: %c", &state) != 1)
			sscanf(line, "TracerPid: %d", &tracer);
	if (file)
		fclose(file);
	return state == 'R' && tracer == kernel_pid;
}

static pid_t find_running(pid_t kernel_pid)
{
	DIR *folder = opendir("/proc");
	pid_t found = 0;

	for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
		uint64_t pid;
		if (ina_parse_whole(entry->d_name, 1, INT_MAX, &pid) &&
		    is_running((pid_t)pid, kernel_pid))
			found = (pid_t)pid;
	}
	if (folder)
		closedir(folder);
	return found;
}

/* If the page ends like the top of a stack, with strings, reads the last one, which is the name. */
static bool read_name(const char *page, char *name, size_t size)
{
	size_t end = PAGE_BYTES, start;

	while (end > 0 && page[end - 1] == '\0')
		end--;
	for (start = end; start > 0 && isprint((unsigned char)page[start - 1]); start--)
		;
	if (PAGE_BYTES - end <= ZEROS_BEHIND_NAME || start == end || start < 2 ||
	    page[start - 1] != '\0' || !isprint((unsigned char)page[start - 2]))
		return false;
	snprintf(name, size, "%.*s", (int)(end - start), page + start);
	return true;
}

/* The guest's memory is mapped from an unnamed file; the stack is the highest of its mappings. */
static bool find_name(pid_t pid, char *name, size_t size)
{
	char path[64], line[512], page[PAGE_BYTES];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	const int memory = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *maps = fopen(path, "re");
	while (memory >= 0 && maps && fgets(line, sizeof(line), maps)) {
		unsigned long long end;
		if (sscanf(line, "%*x-%llx", &end) == 1 && strstr(line, "(deleted)") &&
		    pread(memory, page, PAGE_BYTES, (off_t)(end - PAGE_BYTES)) == PAGE_BYTES)
			found |= read_name(page, name, size);
	}
	if (maps)
		fclose(maps);
	if (memory >= 0)
		close(memory);
	return found;
}

bool lab_spinner_find(pid_t kernel_pid, char *name, size_t size)
{
	const pid_t pid = find_running(kernel_pid);
	return pid > 0 && find_name(pid, name, size);
}
