/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of clock_gettime(2), each as one number. */
#ifndef INA_COMMON_CLOCK_H
#define INA_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t ina_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Time of the monotonic clock. */
static inline int64_t ina_now_ns(void)
{
	return ina_clock_ns(CLOCK_MONOTONIC);
}

static inline double ina_now_s(void)
{
	return (double)ina_now_ns() * 1e-9;
}

#endif
