/* SPDX-License-Identifier: Apache-2.0 */
/* The all-reduce of a single rank. */
#include "alone.h"

#include <string.h>

static enum ina_status row_start(void *self, const struct ina_transfer *transfer,
                                 struct ina_failure *failure)
{
	(void)self;
	(void)failure;
	if (transfer->total_bytes > 0 && transfer->send != transfer->recv)
		memcpy(transfer->recv, transfer->send, transfer->total_bytes);
	return INA_OK;
}

static enum ina_status row_advance(void *self, bool before_wait, bool *moved,
                                   struct ina_failure *failure)
{
	(void)self;
	(void)before_wait;
	(void)failure;
	*moved = true;
	return INA_OK;
}

static bool row_is_done(const void *self)
{
	(void)self;
	return true;
}

static bool row_end(void *self, struct ina_stats *stats, uint64_t *until)
{
	(void)self;
	(void)stats;
	*until = 0;
	return false;
}

static int row_pollfds(const void *self, struct pollfd *fds)
{
	(void)self;
	(void)fds;
	return 0;
}

static void row_nothing(void *self)
{
	(void)self;
}

const struct ina_algorithm_row ina_alone_algorithm = {
        .start = row_start,
        .advance = row_advance,
        .is_done = row_is_done,
        .end = row_end,
        .abort = row_nothing,
        .pollfds = row_pollfds,
        .arm = row_nothing,
};
