/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands print: whole lines, each behind its rank, as they are written.
 */
#ifndef INA_LAB_CONSOLE_H
#define INA_LAB_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

/* A line longer than this comes out in pieces. */
#define LAB_CONSOLE_LINE_BYTES 16384

/* One of a host's two streams. */
struct lab_console {
	int from; /* our end of a pipe; -1 once it is closed */
	int to;   /* STDOUT_FILENO or STDERR_FILENO */
	int rank;
	size_t length;
	char line[LAB_CONSOLE_LINE_BYTES];
};

enum lab_console_result {
	LAB_CONSOLE_MORE,
	LAB_CONSOLE_ENDED,       /* no more will come; `from` is closed */
	LAB_CONSOLE_READER_GONE, /* nobody reads what we print */
	LAB_CONSOLE_FAILED,      /* it cannot be written; errno says why */
	LAB_CONSOLE_INTERRUPTED, /* `interrupt_fd` became readable while our reader was slow */
};

/* Reads what is there and prints the lines that are complete, at the end the rest too. */
enum lab_console_result lab_console_relay(struct lab_console *console, int interrupt_fd);

#endif
