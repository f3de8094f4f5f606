/* SPDX-License-Identifier: Apache-2.0 */
/* One file descriptor that stands for many and a timer, for callers that poll on their own. */
#ifndef INA_ENGINE_POLLSET_H
#define INA_ENGINE_POLLSET_H

#include <poll.h>

#include "hostlib/options/error.h"

/*
 * The ranks of one machine, and the descriptors of this communicator, its rail and the rail's
 * channels.
 */
#define INA_POLLSET_FDS (INA_MAX_RANKS + 384)

struct ina_pollset {
	int fd;       /* an epoll descriptor; -1: not opened yet */
	int timer_fd; /* fires every period_ms */
	int period_ms;
	int watched[INA_POLLSET_FDS];
	int watched_count;
};

void ina_pollset_init(struct ina_pollset *set);

/*
 * Opens the descriptor. The timer fires every period_ms, and immediately if `ready` is set. Returns
 * INA_OK or INA_ERR_SYSTEM.
 */
enum ina_status ina_pollset_open(struct ina_pollset *set, int period_ms, bool ready,
                                 struct ina_failure *failure);
void ina_pollset_close(struct ina_pollset *set);

/*
 * From now on the descriptor is readable when one of these is, or when the timer fires. Clears the
 * timer's last expiration.
 */
void ina_pollset_watch(struct ina_pollset *set, const struct pollfd *fds, int count);

/* Makes the timer fire immediately, and then as before. */
void ina_pollset_alarm(const struct ina_pollset *set);

#endif
