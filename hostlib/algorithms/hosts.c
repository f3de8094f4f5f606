/* SPDX-License-Identifier: Apache-2.0 */
/* The all-reduce among the hosts. */
#include "hosts.h"

#include <inttypes.h>

enum ina_status ina_hosts_advance(struct ina_hosts *hosts, struct ina_failure *failure)
{
	return hosts->doubles ? ina_doubling_advance(&hosts->doubling, failure)
	                      : ina_ring_advance(&hosts->ring, failure);
}

static bool awaits_message(const struct ina_hosts *hosts)
{
	return hosts->doubles ? ina_doubling_awaits_message(&hosts->doubling)
	                      : ina_ring_awaits_message(&hosts->ring);
}

static enum ina_status row_start(void *self, const struct ina_transfer *transfer,
                                 struct ina_failure *failure)
{
	struct ina_hosts *hosts = self;

	hosts->doubles = ina_doubling_takes(&hosts->doubling, transfer);
	if (hosts->doubles)
		ina_doubling_start(&hosts->doubling, transfer,
		                   hosts->ask_rejoin ? INA_WIRE_REJOIN : 0u);
	else
		ina_ring_start(&hosts->ring, transfer);
	hosts->ring.rejoin = hosts->ask_rejoin;
	hosts->ask_rejoin = false;
	return ina_hosts_advance(hosts, failure);
}

static enum ina_status go_on(struct ina_hosts *hosts, enum ina_status status, int count,
                             bool *moved, struct ina_failure *failure)
{
	*moved = count > 0;
	return status == INA_OK && count > 0 ? ina_hosts_advance(hosts, failure) : status;
}

static enum ina_status row_advance(void *self, bool before_wait, bool *moved,
                                   struct ina_failure *failure)
{
	struct ina_hosts *hosts = self;
	int count;
	enum ina_status status = ina_completions_take(hosts->completions, before_wait,
	                                              awaits_message(hosts), &count, failure);

	return go_on(hosts, status, count, moved, failure);
}

static enum ina_status row_wait(void *self, int timeout_ms, bool *moved,
                                struct ina_failure *failure)
{
	struct ina_hosts *hosts = self;
	int count;
	enum ina_status status = ina_completions_sleep(hosts->completions, awaits_message(hosts),
	                                               timeout_ms, &count, failure);

	return go_on(hosts, status, count, moved, failure);
}

static bool row_is_done(const void *self)
{
	const struct ina_hosts *hosts = self;

	return hosts->doubles ? ina_doubling_done(&hosts->doubling) : ina_ring_done(&hosts->ring);
}

static bool row_end(void *self, struct ina_stats *stats, uint64_t *until)
{
	struct ina_hosts *hosts = self;
	const struct ina_ring *ring = &hosts->ring;
	const struct ina_doubling *doubling = &hosts->doubling;

	*until = 0;
	if (hosts->doubles) {
		hosts->rejoin = (doubling->flags & INA_WIRE_REJOIN) != 0;
		stats->messages_ring += doubling->came;
		stats->bytes_ring += doubling->transfer.total_bytes;
		return (doubling->flags & INA_WIRE_OVERFLOW) != 0;
	}
	hosts->rejoin = ring->rejoin;
	stats->messages_ring += ring->in_count;
	stats->bytes_ring += ring->transfer.total_bytes;
	return ring->overflow;
}

static void row_abort(void *self)
{
	ina_fabric_silence(((struct ina_hosts *)self)->completions->fabric);
}

static int row_pollfds(const void *self, struct pollfd *fds)
{
	return ina_fabric_pollfds(((const struct ina_hosts *)self)->completions->fabric, fds);
}

static void row_arm(void *self)
{
	ina_completions_arm(((struct ina_hosts *)self)->completions);
}

static uint32_t row_position(const void *self)
{
	const struct ina_hosts *hosts = self;

	return hosts->doubles ? hosts->doubling.came : (uint32_t)hosts->ring.in.index;
}

static void row_explain_timeout(const void *self, int timeout_ms, struct ina_failure *failure)
{
	const struct ina_hosts *hosts = self;
	const struct ina_ring *ring = &hosts->ring;
	const struct ina_connection_context *connection = &ring->connection;

	if (hosts->doubles)
		ina_fail(failure, INA_ERR_TIMEOUT, "got no message from rank %d in %d ms",
		         ina_doubling_awaited(&hosts->doubling), timeout_ms);
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
        .advance = row_advance,
        .wait = row_wait,
        .is_done = row_is_done,
        .end = row_end,
        .abort = row_abort,
        .pollfds = row_pollfds,
        .arm = row_arm,
        .position = row_position,
        .explain_timeout = row_explain_timeout,
};
