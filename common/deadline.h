/* SPDX-License-Identifier: Apache-2.0 */
/* Time for deadlines: milliseconds of the monotonic clock. */
#ifndef INA_COMMON_DEADLINE_H
#define INA_COMMON_DEADLINE_H

#include <stdint.h>
#include <time.h>

static inline int64_t ina_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What is left until the deadline, for poll(2): 0 or more, at most `limit_ms`. */
static inline int ina_left_ms(int64_t deadline_ms, int limit_ms)
{
	int64_t left = deadline_ms - ina_now_ms();

	if (left < 0)
		return 0;
	return left < limit_ms ? (int)left : limit_ms;
}

#endif
