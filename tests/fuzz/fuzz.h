/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzzers share: a check that stays in whatever the build, and ends in a report. */
#ifndef INA_FUZZ_H
#define INA_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			dprintf(STDERR_FILENO, "%s:%d: does not hold: %s\n", __FILE__, __LINE__,   \
			        #condition);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/*
 * What goes to stderr goes nowhere, for code that complains as it should. Returns the stderr that
 * was, to be put back. glibc's stderr is a variable.
 */
static inline FILE *fuzz_silence(void)
{
	static FILE *nowhere;
	FILE *saved = stderr;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	FUZZ_CHECK(nowhere);
	stderr = nowhere;
	return saved;
}

#endif
