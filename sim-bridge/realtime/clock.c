/* SPDX-License-Identifier: Apache-2.0 */
/* Monotonic time, shifted once to the epoch: stamps of a capture never go back. */
#include "clock.h"

#include <time.h>

static uint64_t read_clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t wall_now_ns(const struct clock *clock)
{
	return read_clock_ns(CLOCK_MONOTONIC) + clock->offset_ns;
}

struct clock clock_of_wall(void)
{
	return (struct clock){
	        .now_ns = wall_now_ns,
	        .offset_ns = read_clock_ns(CLOCK_REALTIME) - read_clock_ns(CLOCK_MONOTONIC),
	};
}

uint64_t clock_now_ns(const struct clock *clock)
{
	return clock->now_ns(clock);
}
