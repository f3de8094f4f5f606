/* SPDX-License-Identifier: Apache-2.0 */
/* One file descriptor for all that a communicator waits for. */
#include "pollset.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "comm.h"

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

/* Stalls and timeouts are found by whoever looks: so that somebody does. */
static int add_timer(struct ina_pollset *set)
{
	const struct timespec interval = {.tv_sec = INA_STALL_MS / 1000,
	                                  .tv_nsec = INA_STALL_MS % 1000 * 1000000};
	const struct itimerspec times = {.it_interval = interval, .it_value = interval};

	set->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (set->timer_fd < 0 || timerfd_settime(set->timer_fd, 0, &times, NULL) != 0)
		return -1;
	return add(set, set->timer_fd);
}

static int add_all(struct ina_pollset *set, const struct ina_comm *comm)
{
	struct pollfd links[INA_MAX_RANKS];
	int count = ina_control_pollfds(&comm->control, links);

	set->fd = epoll_create1(EPOLL_CLOEXEC);
	if (set->fd < 0)
		return -1;
	for (int i = 0; i < count; i++) {
		if (add(set, links[i].fd) != 0)
			return -1;
	}
	return add(set, comm->fabric.channel->fd) == 0 ? add_timer(set) : -1;
}

enum ina_status ina_pollset_open(struct ina_pollset *set, const struct ina_comm *comm,
                                 struct ina_failure *failure)
{
	bool fine;

	/* A single rank never waits: always readable. */
	if (comm->ranks == 1) {
		set->fd = eventfd(1, EFD_CLOEXEC);
		fine = set->fd >= 0;
	} else {
		fine = add_all(set, comm) == 0;
	}
	if (fine)
		return INA_OK;
	ina_fail(failure, INA_ERR_SYSTEM, "no file descriptor to poll on: %s", strerror(errno));
	ina_pollset_close(set);
	return failure->status;
}

/* The connection manager's events are taken while there is a connection to be made, and only then.
 */
static void follow_phase(struct ina_pollset *set, const struct ina_comm *comm)
{
	bool connecting = comm->phase == INA_REJOINING;

	if (connecting == set->has_connecting)
		return;
	if (connecting)
		add(set, comm->fabric.events->fd);
	else
		epoll_ctl(set->fd, EPOLL_CTL_DEL, comm->fabric.events->fd, NULL);
	set->has_connecting = connecting;
}

void ina_pollset_arm(struct ina_pollset *set, struct ina_comm *comm)
{
	uint64_t ticks;
	ssize_t ignored;

	if (set->fd < 0 || comm->ranks == 1)
		return;
	follow_phase(set, comm);
	ignored = read(set->timer_fd, &ticks, sizeof(ticks));
	(void)ignored;
	ina_progress_arm(comm);
}
