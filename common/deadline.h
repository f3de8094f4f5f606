/* SPDX-License-Identifier: Apache-2.0 */
/* Time for deadlines: milliseconds of the monotonic clock, as it was at the last tick. */
#ifndef INA_COMMON_DEADLINE_H
#define INA_COMMON_DEADLINE_H

#include "clock.h"

static inline int64_t ina_now_ms(void)
{
	return ina_clock_ns(CLOCK_MONOTONIC_COARSE) / 1000000;
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
