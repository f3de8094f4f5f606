/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that was built with an older ina.h (old/ina.h) runs with this library. Nothing is
 * written past its structs, and members that they lack have their defaults. There is a single rank.
 */
#include <stdio.h>
#include <string.h>

#include "old/ina.h"

#define GUARD_BYTES 512
#define GUARD       0xA5

static struct {
	struct ina_options options;
	unsigned char guard[GUARD_BYTES];
} asked;

static struct {
	struct ina_stats stats;
	unsigned char guard[GUARD_BYTES];
} told;

static int is_whole(const unsigned char *guard)
{
	for (int i = 0; i < GUARD_BYTES; i++) {
		if (guard[i] != GUARD)
			return 0;
	}
	return 1;
}

static int fail(const char *what)
{
	fprintf(stderr, "check_old_header: %s\n", what);
	return 1;
}

int main(void)
{
	char why[INA_ERROR_SIZE];
	int32_t number = 3;
	ina_comm *comm;

	memset(asked.guard, GUARD, sizeof(asked.guard));
	memset(told.guard, GUARD, sizeof(told.guard));
	ina_options_init(&asked.options);
	if (!is_whole(asked.guard))
		return fail("ina_options_init() has written past the options");
	if (asked.options.rank != -1 || asked.options.window == 0)
		return fail("ina_options_init() has not filled in the defaults");
	asked.options.rank = 0;
	asked.options.ranks = 1;
	if (ina_open(&asked.options, &comm, why, sizeof(why)) != INA_OK)
		return fail(why);
	if (ina_allreduce(comm, &number, &number, 1, INA_INT32, INA_SUM) != INA_OK || number != 3)
		return fail("the all-reduce is wrong");
	ina_comm_stats(comm, &told.stats, sizeof(told.stats));
	if (told.stats.calls != 1 || !is_whole(told.guard))
		return fail("ina_comm_stats() is wrong");
	if (ina_close(comm) != INA_OK)
		return fail("ina_close() failed");
	return ina_version() >= INA_VERSION ? 0 : fail("the library is older than the header");
}
