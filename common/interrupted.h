/* SPDX-License-Identifier: Apache-2.0 */
/* System calls that a signal may interrupt: EINTR is not an error, and must not shorten a wait. */
#ifndef INA_COMMON_INTERRUPTED_H
#define INA_COMMON_INTERRUPTED_H

#include <errno.h>
#include <poll.h>

#include "deadline.h"

/* Repeats the call as long as a signal interrupts it. For calls that do not wait for long. */
#define INA_UNINTERRUPTED(result, call)                                                            \
	do {                                                                                       \
		(result) = (call);                                                                 \
	} while ((result) < 0 && errno == EINTR)

/* poll(2) for the whole of timeout_ms (0: no wait), even if signals interrupt it. */
static inline int ina_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	int64_t deadline_ms = timeout_ms > 0 ? ina_now_ms() + timeout_ms : 0;
	int left_ms = timeout_ms;
	int ready;

	while ((ready = poll(fds, count, left_ms)) < 0 && errno == EINTR) {
		if (timeout_ms > 0)
			left_ms = ina_left_ms(deadline_ms, timeout_ms);
	}
	return ready;
}

#endif
