/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relays the output of the commands as they write it: whole lines, each prefixed with its rank.
 */
#ifndef INA_LAB_CONSOLE_H
#define INA_LAB_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

/* A longer line is printed in several pieces. */
#define LAB_CONSOLE_LINE_BYTES 16384

/* One of a host's two streams, stdout or stderr. */
struct lab_console {
	int from; /* the reading end of a pipe; -1 once it is closed */
	int to;   /* STDOUT_FILENO or STDERR_FILENO */
	int rank;
	size_t length;
	char line[LAB_CONSOLE_LINE_BYTES];
};

enum lab_console_result {
	LAB_CONSOLE_MORE,
	LAB_CONSOLE_ENDED,       /* the stream has ended, and `from` is closed */
	LAB_CONSOLE_READER_GONE, /* the reader of ina-lab's output has closed it */
	LAB_CONSOLE_FAILED,      /* a write failed; errno says why */
	LAB_CONSOLE_INTERRUPTED, /* `interrupt_fd` became readable during a slow write */
};

/* Reads the available output and prints complete lines; at the stream's end also the last part. */
enum lab_console_result lab_console_relay(struct lab_console *console, int interrupt_fd);

#endif
