/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times for deadlines, in milliseconds of the coarse monotonic clock, which advances with the
 * kernel's timer tick and is cheap to read.
 */
#ifndef INA_COMMON_DEADLINE_H
#define INA_COMMON_DEADLINE_H

#include "clock.h"

static inline int64_t ina_now_ms(void)
{
	return ina_clock_ns(CLOCK_MONOTONIC_COARSE) / 1000000;
}

/* The time left until the deadline, as a timeout for poll(2): from 0 to `limit_ms` ms. */
static inline int ina_left_ms(int64_t deadline_ms, int limit_ms)
{
	int64_t left = deadline_ms - ina_now_ms();

	if (left < 0)
		return 0;
	return left < limit_ms ? (int)left : limit_ms;
}

#endif
