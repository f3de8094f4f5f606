/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals at every moment: the linker replaces the library's system calls by these functions
 * (--wrap). About every third call is interrupted before it does anything, as signal(7) allows. The
 * test's own calls are compiled to be the real ones.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Each thread has a separate series of random numbers, the same in each run of a test. */
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
