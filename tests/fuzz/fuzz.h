/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that the fuzzers share. FUZZ_CHECK is active in every build, and ends in a report. */
#ifndef INA_FUZZ_H
#define INA_FUZZ_H

#include <stddef.h>
#include <stdint.h>
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
 * Discards output to stderr, for code that complains as it should. Returns the old stderr, to be
 * restored. In glibc, stderr is a variable.
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

/* The rest of an input; zeros follow its end. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline unsigned fuzz_byte(struct fuzz_input *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->at++;
}

static inline unsigned fuzz_word(struct fuzz_input *input)
{
	const unsigned low = fuzz_byte(input);

	return low | fuzz_byte(input) << 8;
}

#endif
