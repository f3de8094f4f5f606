/* SPDX-License-Identifier: Apache-2.0 */
/* A line of ina-perf --doctor: the subject of a check, and its result. */
#ifndef INA_FINDING_H
#define INA_FINDING_H

enum finding {
	FINDING_OK,
	FINDING_SKIPPED, /* not checked */
	FINDING_WARNING, /* works, but could be better */
	FINDING_FAILED,
};

/* Prints the line on standard output. */
void finding_print(enum finding finding, const char *what, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

#endif
