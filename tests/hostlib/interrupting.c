/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals at every moment: the linker puts these in the place of the library's system calls
 * (--wrap), and every third or so is interrupted before it does anything, as signal(7) allows. The
 * test's own calls are compiled to be the real ones.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Each thread has its own row of numbers: the rows of a test are the same each time. */
static bool is_interrupted(void)
{
	static _Thread_local uint32_t drawn = 1;

	drawn = drawn * 1664525u + 1013904223u; /* Numerical Recipes */
	if (drawn >> 30 != 0)
		return false;
	errno = EINTR;
	return true;
}

#define INTERRUPT(type, name, parameters, arguments)                                               \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		return is_interrupted() ? (type)-1 : __real_##name arguments;                      \
	}

INTERRUPT(int, poll, (struct pollfd * fds, nfds_t count, int timeout_ms), (fds, count, timeout_ms))
INTERRUPT(ssize_t, send, (int fd, const void *from, size_t bytes, int flags),
          (fd, from, bytes, flags))
INTERRUPT(ssize_t, recv, (int fd, void *to, size_t bytes, int flags), (fd, to, bytes, flags))
INTERRUPT(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
INTERRUPT(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
INTERRUPT(int, accept4, (int fd, struct sockaddr *from, socklen_t *size, int flags),
          (fd, from, size, flags))
