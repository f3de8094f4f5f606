/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ina-perf --doctor: what all-reduce needs, looked at piece by piece, one line each on standard
 * output, with the remedy where something is amiss.
 */
#ifndef INA_DOCTOR_H
#define INA_DOCTOR_H

#include <stdbool.h>

#include "perf_options.h"

enum doctor_finding {
	DOCTOR_OK,
	DOCTOR_SKIPPED, /* not looked at */
	DOCTOR_WARNING, /* works, but could be better */
	DOCTOR_FAILED,
};

/* Prints a line: what was looked at, and what was found. */
void doctor_tell(enum doctor_finding finding, const char *what, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Device, port, GID, MTU and the limit on locked memory of this host. False: something failed. */
bool doctor_look_at_host(void);

/* All of it, with the other ranks. Returns the exit code: 0 if nothing failed. */
int doctor(const struct perf_options *options);

#endif
