/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the bridge's time comes from. All else takes time as a parameter, so that
 * a calendar of virtual time can stand in for the wall clock.
 */
#ifndef INA_BRIDGE_CLOCK_H
#define INA_BRIDGE_CLOCK_H

#include <stdint.h>

struct clock {
	/* Nanoseconds since the Unix epoch. Never goes back. */
	uint64_t (*now_ns)(const struct clock *clock);
	uint64_t offset_ns; /* the wall clock's: epoch - start of the monotonic clock */
};

/* Runs with the machine's monotonic clock, and agrees with its time of day at the start. */
struct clock clock_of_wall(void);

uint64_t clock_now_ns(const struct clock *clock);

#endif
