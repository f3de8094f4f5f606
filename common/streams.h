/* SPDX-License-Identifier: Apache-2.0 */
/* Standard input, output and error of a program, and files that it is to write. */
#ifndef INA_COMMON_STREAMS_H
#define INA_COMMON_STREAMS_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Opens /dev/null in place of descriptors 0 to 2 that the caller of the program has closed. Else a
 * file or socket that is opened later gets such a number, and output meant for the terminal lands
 * in it. A program calls this first.
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
 * Returns whether all that was printed to stdout has been written; if not, prints one line that
 * begins with the program's name. A program calls this last.
 */
static inline bool ina_streams_flush(const char *program)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	fprintf(stderr, "%s: stdout could not be written in full: check the free space\n", program);
	return false;
}

/*
 * Returns whether the file can be written, and makes it if it does not exist; if not, prints one
 * line that begins with the program's name. A program asks before it works for results that it
 * could not save.
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
