/* SPDX-License-Identifier: Apache-2.0 */
/* A program's standard input, output and error, and the files that it will write. */
#ifndef INA_COMMON_STREAMS_H
#define INA_COMMON_STREAMS_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Opens /dev/null for those of descriptors 0 to 2 that were closed when the program started.
 * Otherwise a file or socket that is opened later would get such a number, and output for the
 * terminal would go into it. A program calls this first.
 */
static inline void ina_streams_open(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/*
 * Returns whether everything printed to stdout has been written. If not, prints one line that
 * begins with the program's name. A program calls this last.
 */
static inline bool ina_streams_flush(const char *program)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	fprintf(stderr, "%s: could not write all of stdout: check the free space\n", program);
	return false;
}

/*
 * Returns whether the file can be written; creates it if it does not exist. If it cannot be
 * written, prints one line that begins with the program's name. A program calls this before it
 * computes results for the file.
 */
static inline bool ina_streams_can_write(const char *program, const char *path)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd >= 0)
		return !close(fd);
	fprintf(stderr, "%s: cannot write %s: %s\n", program, path, strerror(errno));
	return false;
}

#endif
