/* SPDX-License-Identifier: Apache-2.0 */
/* Relays the output of the commands: whole lines, each prefixed with its rank. */
#include "console.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The bytes that a pipe takes without blocking if it polls as writable (PIPE_BUF of Linux). */
#define WRITE_BYTES 4096

/*
 * Writes all bytes. stdout belongs to the caller of ina-lab, so it must stay blocking. If its
 * reader is slow, the wait is in poll(), which an interrupt also ends.
 */
static enum lab_console_result print(int to, const char *bytes, size_t length, int interrupt_fd)
{
	while (length) {
		struct pollfd fds[] = {{.fd = to, .events = POLLOUT},
		                       {.fd = interrupt_fd, .events = POLLIN}};
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents)
			return LAB_CONSOLE_INTERRUPTED;
		const ssize_t written =
		        write(to, bytes, length < WRITE_BYTES ? length : WRITE_BYTES);
		if (written < 0 && errno != EINTR && errno != EAGAIN)
			return errno == EPIPE ? LAB_CONSOLE_READER_GONE : LAB_CONSOLE_FAILED;
		if (written > 0) {
			bytes += written;
			length -= (size_t)written;
		}
	}
	return LAB_CONSOLE_MORE;
}

/*
 * Prints `length` bytes as one line. The prefix is part of the same write, so lines of stdout and
 * stderr stay whole if both go to the same place.
 */
static enum lab_console_result print_line(const struct lab_console *console, const char *text,
                                          size_t length, int interrupt_fd)
{
	char line[LAB_CONSOLE_LINE_BYTES + 16];
	size_t end = (size_t)snprintf(line, 16, "[%d] ", console->rank);

	memcpy(line + end, text, length);
	end += length;
	line[end++] = '\n';
	return print(console->to, line, end, interrupt_fd);
}

static enum lab_console_result print_lines(struct lab_console *console, int interrupt_fd)
{
	enum lab_console_result result = LAB_CONSOLE_MORE;
	size_t start = 0;

	while (result == LAB_CONSOLE_MORE && start < console->length) {
		const char *text = console->line + start;
		const size_t left = console->length - start;
		const char *newline = memchr(text, '\n', left);
		if (!newline && (start || console->length < sizeof(console->line)))
			break;
		const size_t length = newline ? (size_t)(newline - text) : left;
		result = print_line(console, text, length, interrupt_fd);
		start += length + (newline ? 1 : 0);
	}
	memmove(console->line, console->line + start, console->length - start);
	console->length -= start;
	return result;
}

enum lab_console_result lab_console_relay(struct lab_console *console, int interrupt_fd)
{
	const ssize_t got = read(console->from, console->line + console->length,
	                         sizeof(console->line) - console->length);
	if (got > 0) {
		console->length += (size_t)got;
		return print_lines(console, interrupt_fd);
	}
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return LAB_CONSOLE_MORE;
	close(console->from);
	console->from = -1;
	if (!console->length)
		return LAB_CONSOLE_ENDED;
	const enum lab_console_result result =
	        print_line(console, console->line, console->length, interrupt_fd);
	console->length = 0;
	return result == LAB_CONSOLE_MORE ? LAB_CONSOLE_ENDED : result;
}
