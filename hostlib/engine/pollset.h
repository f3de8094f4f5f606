/* SPDX-License-Identifier: Apache-2.0 */
/* One file descriptor for many, and a timer: for callers who poll by themselves. */
#ifndef INA_ENGINE_POLLSET_H
#define INA_ENGINE_POLLSET_H

#include <poll.h>

#include "hostlib/options/error.h"

/* The ranks of one machine, and what this communicator, its rail and that one's channels wait for.
 */
#define INA_POLLSET_FDS (INA_MAX_RANKS + 384)

struct ina_pollset {
	int fd;       /* an epoll; -1: nobody has asked for it */
	int timer_fd; /* what is to be looked at now and then, */
	int period_ms;
	int watched[INA_POLLSET_FDS];
	int watched_count;
};

void ina_pollset_init(struct ina_pollset *set);

/* The timer fires every period_ms, and first at once if `ready`. INA_OK or INA_ERR_SYSTEM. */
enum ina_status ina_pollset_open(struct ina_pollset *set, int period_ms, bool ready,
                                 struct ina_failure *failure);
void ina_pollset_close(struct ina_pollset *set);

/* Becomes readable when one of these does, or by the timer, whose last tick is forgotten. */
void ina_pollset_watch(struct ina_pollset *set, const struct pollfd *fds, int count);

/* The timer fires immediately, and then as before. */
void ina_pollset_alarm(const struct ina_pollset *set);

#endif
