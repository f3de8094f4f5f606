/* SPDX-License-Identifier: Apache-2.0 */
/* One file descriptor that stands for many. */
#include "pollset.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

void ina_pollset_init(struct ina_pollset *set)
{
	*set = (struct ina_pollset){.fd = -1, .timer_fd = -1};
}

void ina_pollset_close(struct ina_pollset *set)
{
	if (set->timer_fd >= 0)
		close(set->timer_fd);
	if (set->fd >= 0)
		close(set->fd);
	ina_pollset_init(set);
}

static int add(const struct ina_pollset *set, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(set->fd, EPOLL_CTL_ADD, fd, &event);
}

static int set_timer(const struct ina_pollset *set, bool ready)
{
	const struct timespec period = {.tv_sec = set->period_ms / 1000,
	                                .tv_nsec = set->period_ms % 1000 * 1000000};
	const struct itimerspec times = {.it_interval = period,
	                                 .it_value =
	                                         ready ? (struct timespec){.tv_nsec = 1} : period};

	return timerfd_settime(set->timer_fd, 0, &times, NULL);
}

enum ina_status ina_pollset_open(struct ina_pollset *set, int period_ms, bool ready,
                                 struct ina_failure *failure)
{
	set->period_ms = period_ms;
	set->fd = epoll_create1(EPOLL_CLOEXEC);
	set->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (set->fd >= 0 && set->timer_fd >= 0 && set_timer(set, ready) == 0 &&
	    add(set, set->timer_fd) == 0)
		return INA_OK;
	ina_fail(failure, INA_ERR_SYSTEM, "no file descriptor to poll on: %s", strerror(errno));
	ina_pollset_close(set);
	return failure->status;
}

static bool is_watched(const struct ina_pollset *set, int fd)
{
	for (int i = 0; i < set->watched_count; i++) {
		if (set->watched[i] == fd)
			return true;
	}
	return false;
}

static bool is_among(const struct pollfd *fds, int count, int fd)
{
	for (int i = 0; i < count; i++) {
		if (fds[i].fd == fd)
			return true;
	}
	return false;
}

void ina_pollset_watch(struct ina_pollset *set, const struct pollfd *fds, int count)
{
	uint64_t ticks;
	ssize_t ignored = read(set->timer_fd, &ticks, sizeof(ticks));

	(void)ignored;
	for (int i = 0; i < set->watched_count; i++) {
		if (!is_among(fds, count, set->watched[i]))
			epoll_ctl(set->fd, EPOLL_CTL_DEL, set->watched[i], NULL);
	}
	for (int i = 0; i < count; i++) {
		if (!is_watched(set, fds[i].fd))
			add(set, fds[i].fd);
	}
	for (int i = 0; i < count; i++)
		set->watched[i] = fds[i].fd;
	set->watched_count = count;
}

void ina_pollset_alarm(const struct ina_pollset *set)
{
	set_timer(set, true);
}
