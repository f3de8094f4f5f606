/* SPDX-License-Identifier: Apache-2.0 */
/* The all-reduce among the hosts. */
#include "hosts.h"

#include <inttypes.h>

enum ina_status ina_hosts_go_on(void *self, struct ina_failure *failure)
{
	struct ina_hosts *hosts = self;

	return hosts->doubles ? ina_doubling_advance(hosts->doubling, failure)
	                      : ina_ring_advance(&hosts->ring, failure);
}

static bool awaits_message(const void *self)
{
	const struct ina_hosts *hosts = self;

	return hosts->doubles ? ina_doubling_awaits_message(hosts->doubling)
	                      : ina_ring_awaits_message(&hosts->ring);
}

void ina_hosts_attach(struct ina_hosts *hosts, const struct ina_completions *completions,
                      struct ina_doubling *doubling)
{
	hosts->doubling = doubling;
	hosts->completing = (struct ina_completing){completions, awaits_message, ina_hosts_go_on};
}

uint64_t ina_hosts_wide_bytes(const struct ina_hosts *hosts, const struct ina_transfer *transfer)
{
	/* With two ranks no partial result is sent, and recursive doubling has separate memory. */
	if (!ina_type_widens(transfer->type, transfer->op) || hosts->ring.connection.ranks == 2 ||
	    ina_doubling_takes(hosts->doubling, transfer))
		return 0;
	return 2 * transfer->total_bytes;
}

static enum ina_status row_start(void *self, const struct ina_transfer *transfer,
                                 struct ina_failure *failure)
{
	struct ina_hosts *hosts = self;

	hosts->doubles = ina_doubling_takes(hosts->doubling, transfer);
	if (hosts->doubles)
		ina_doubling_start(hosts->doubling, transfer,
		                   hosts->ask_rejoin ? INA_WIRE_REJOIN : 0u);
	else
		ina_ring_start(&hosts->ring, transfer);
	hosts->ring.rejoin = hosts->ask_rejoin;
	hosts->ask_rejoin = false;
	return ina_hosts_go_on(hosts, failure);
}

static bool row_is_done(const void *self)
{
	const struct ina_hosts *hosts = self;

	return hosts->doubles ? ina_doubling_done(hosts->doubling) : ina_ring_done(&hosts->ring);
}

static bool row_end(void *self, struct ina_stats *stats, uint64_t *until)
{
	struct ina_hosts *hosts = self;
	const struct ina_ring *ring = &hosts->ring;
	const struct ina_doubling *doubling = hosts->doubling;

	*until = 0;
	if (hosts->doubles) {
		hosts->rejoin = (doubling->flags & INA_WIRE_REJOIN) != 0;
		stats->messages_ring += doubling->came;
		stats->bytes_ring += doubling->transfer.total_bytes;
		stats->bytes_doubling += doubling->transfer.total_bytes;
		return (doubling->flags & INA_WIRE_OVERFLOW) != 0;
	}
	hosts->rejoin = ring->rejoin;
	stats->messages_ring += ring->in_count;
	stats->bytes_ring += ring->transfer.total_bytes;
	return ring->overflow;
}

static void row_abort(void *self)
{
	ina_transport_silence(((struct ina_hosts *)self)->completing.completions->transport);
}

static uint32_t row_position(const void *self)
{
	const struct ina_hosts *hosts = self;

	return hosts->doubles ? hosts->doubling->came : (uint32_t)hosts->ring.in.index;
}

static void row_explain_timeout(const void *self, int timeout_ms, struct ina_failure *failure)
{
	const struct ina_hosts *hosts = self;
	const struct ina_ring *ring = &hosts->ring;
	const struct ina_connection_context *connection = &ring->connection;

	if (hosts->doubles)
		ina_fail(failure, INA_ERR_TIMEOUT, "got no message from rank %d in %d ms",
		         ina_doubling_awaited(hosts->doubling), timeout_ms);
	else if (ring->in.index < ring->in_count)
		ina_fail(failure, INA_ERR_TIMEOUT,
		         "got no message %" PRIu64 " of %" PRIu64 " from rank %d in %d ms",
		         ring->in.index, ring->in_count,
		         ina_predecessor(connection->rank, connection->ranks), timeout_ms);
	else
		ina_fail(failure, INA_ERR_TIMEOUT, "got no acknowledgement from rank %d in %d ms",
		         ina_successor(connection->rank, connection->ranks), timeout_ms);
}

const struct ina_algorithm_row ina_hosts_algorithm = {
        .registers = true,
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
