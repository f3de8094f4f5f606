/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into ranks on hosts of a lab. While an MPI waits, it polls for messages, and takes the
 * machine's few processors from the other hosts and from the switch for which it waits. Therefore a
 * rank that polls or yields sleeps a little here.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>

#define PAUSE_NS (50 * 1000)

int epoll_wait(int epoll_fd, struct epoll_event *events, int size, int timeout_ms)
{
	struct timespec timeout = {.tv_sec = timeout_ms / 1000,
	                           .tv_nsec = timeout_ms % 1000 * 1000000L};

	if (timeout_ms == 0)
		timeout.tv_nsec = PAUSE_NS;
	return epoll_pwait2(epoll_fd, events, size, timeout_ms < 0 ? NULL : &timeout, NULL);
}

int sched_yield(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	return nanosleep(&pause, NULL);
}
