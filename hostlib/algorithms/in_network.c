/* SPDX-License-Identifier: Apache-2.0 */
/* The in-network all-reduce: its row of functions, and how a rank leaves the aggregator. */
#include "in_network.h"

#include <inttypes.h>

#include "common/interrupted.h"

/*
 * The time for a last message to leave the host before its queue pair is stopped, in milliseconds.
 */
#define PARTING_MS 20

void ina_innet_abandon(struct ina_innet *innet, bool ends_connection)
{
	struct ina_innet before = *innet;
	const struct ina_transfer nothing = {0};
	struct ina_failure ignored;

	/* Ignore errors: the connection is not used again. */
	innet->operation_count = 0;
	innet->expected = innet->posted = innet->numbered;
	innet->received = innet->finished = innet->numbered;
	innet->awaited_bytes = 0;
	ina_innet_start(innet, INA_WIRE_LEAVE, 0, &nothing);
	ina_innet_advance(innet, &ignored);
	before.posted += innet->unacknowledged - before.unacknowledged;
	before.unacknowledged = innet->unacknowledged;
	*innet = before;
	if (ends_connection)
		ina_poll(NULL, 0, PARTING_MS);
}

bool ina_innet_count(const struct ina_innet *innet, struct ina_stats *stats)
{
	const struct ina_operation *operation = ina_innet_oldest(innet);

	stats->messages_aggregated += ina_innet_sums(innet);
	stats->bytes_aggregated += ina_innet_summed_bytes(innet);
	stats->messages_congested += operation->congested;
	stats->blocks_fixed += operation->blocks_fixed;
	stats->blocks_float += operation->blocks_float;
	return operation->overflow;
}

/* The row of functions. */

static bool row_has_room(const void *self)
{
	const struct ina_innet *innet = self;

	/* A message of the next all-reduce could be sent immediately. */
	return ina_innet_is_busy(innet) && innet->operation_count < INA_INNET_OPERATIONS &&
	       innet->posted == innet->numbered && ina_innet_has_place(innet);
}

static enum ina_status row_start(void *self, const struct ina_transfer *transfer,
                                 struct ina_failure *failure)
{
	ina_innet_start(self, INA_WIRE_DATA, 0, transfer);
	return ina_innet_advance(self, failure);
}

/*
 * Returns true if only a sum allows progress: no message may be sent, and no acknowledgement would
 * change that.
 */
static bool awaits_message(const void *self)
{
	const struct ina_innet *innet = self;

	return ina_innet_is_busy(innet) && innet->received < innet->posted &&
	       innet->unacknowledged < innet->connection.window;
}

/* Called after completions: releases registrations that are no longer used, and posts messages. */
static enum ina_status go_on(void *self, struct ina_failure *failure)
{
	struct ina_innet *innet = self;

	ina_memory_release(innet->memory, ina_innet_acknowledged(innet));
	return ina_innet_advance(innet, failure);
}

void ina_innet_attach(struct ina_innet *innet, const struct ina_completions *completions)
{
	innet->completing = (struct ina_completing){completions, awaits_message, go_on};
}

/*
 * Without sums there is no history, so a retransmission still reads the sender's memory: wait for
 * the acknowledgements.
 */
static bool row_is_done(const void *self)
{
	const struct ina_innet *innet = self;
	const struct ina_operation *operation = ina_innet_oldest(innet);

	return ina_innet_is_summed(innet) &&
	       (innet->keeps ||
	        ina_innet_acknowledged(innet) >= operation->first + operation->count);
}

static bool row_end(void *self, struct ina_stats *stats, uint64_t *until)
{
	struct ina_innet *innet = self;
	const struct ina_operation *operation = ina_innet_oldest(innet);
	bool overflow = ina_innet_count(innet, stats);

	*until = operation->first + operation->count;
	innet->oldest = (innet->oldest + 1) % INA_INNET_OPERATIONS;
	innet->operation_count--;
	return overflow;
}

static void row_abort(void *self)
{
	struct ina_innet *innet = self;

	ina_innet_abandon(innet, true);
	ina_transport_silence(innet->completing.completions->transport);
	ina_innet_stop(innet);
}

static uint32_t row_position(const void *self)
{
	return ina_innet_is_busy(self) ? (uint32_t)ina_innet_sums(self) : 0;
}

static void row_explain_timeout(const void *self, int timeout_ms, struct ina_failure *failure)
{
	const struct ina_innet *innet = self;

	if (!ina_innet_is_summed(innet))
		ina_fail(failure, INA_ERR_TIMEOUT,
		         "got no sum of message %" PRIu64 " of %" PRIu64 " in %d ms",
		         ina_innet_sums(innet), ina_innet_oldest(innet)->count, timeout_ms);
	else
		ina_fail(failure, INA_ERR_TIMEOUT, "got no acknowledgement from rank %d in %d ms",
		         innet->completing.completions->transport->next[INA_PURPOSE_AGGREGATE].rank,
		         timeout_ms);
}

const struct ina_algorithm_row ina_in_network_algorithm = {
        .registers = true,
        .has_room = row_has_room,
        .start = row_start,
        .advance = ina_completing_advance,
        .wait = ina_completing_wait,
        .is_done = row_is_done,
        .end = row_end,
        .abort = row_abort,
        .pollfds = ina_completing_pollfds,
        .arm = ina_completing_arm,
        .position = row_position,
        .explain_timeout = row_explain_timeout,
};
