/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduces that bypass the aggregator: opens their connections on first use, and then works like
 * the all-reduce among the hosts.
 */
#include "apart.h"

#include "hostlib/rdma/manager.h"
#include "window.h"

static struct ina_transport *transport_of(const struct ina_apart *apart)
{
	return apart->hosts.completing.completions->transport;
}

static bool is_opening(const struct ina_apart *apart)
{
	return apart->stage == INA_APART_GATHERING || apart->stage == INA_APART_CONNECTING;
}

/*
 * Slots for messages in both directions, staging for received elements, copies of elements to send.
 */
static enum ina_status share_memory_out(struct ina_apart *apart, struct ina_failure *failure)
{
	struct ina_transport *transport = transport_of(apart);
	const struct ina_connection *made = &transport->connections[INA_PURPOSE_APART];
	struct ina_connection_context *connection = &apart->hosts.ring.connection;
	const uint32_t most = ina_window_most(apart->like->window);
	size_t slots = most + ina_ring_receives(most);
	enum ina_status status = ina_memory_open(
	        &apart->memory, transport->pd,
	        slots * sizeof(struct ina_slot) +
	                (size_t)(ina_ring_receives(apart->like->window) + apart->like->window) *
	                        apart->like->limit_bytes,
	        failure);

	if (status != INA_OK)
		return status;
	*connection = *apart->like;
	connection->tx = made->tx->qp;
	connection->rx = made->rx->qp;
	connection->tx_slots = apart->memory.slab;
	connection->rx_slots = connection->tx_slots + most;
	connection->staging = (uint8_t *)(connection->tx_slots + slots);
	connection->copies = connection->staging + (size_t)ina_ring_receives(connection->window) *
	                                                   connection->limit_bytes;
	connection->lkey = apart->memory.slab_mr->lkey;
	connection->epoch = INA_APART_EPOCH;
	return ina_ring_open(&apart->hosts.ring, failure);
}

static enum ina_status begin(struct ina_apart *apart, const struct ina_transfer *transfer,
                             struct ina_failure *failure)
{
	return ina_hosts_algorithm.start(&apart->hosts, transfer, failure);
}

static enum ina_status go_on_connecting(struct ina_apart *apart, struct ina_failure *failure)
{
	bool ready;
	enum ina_status status = ina_transport_step(transport_of(apart), &ready, failure);

	if (status != INA_OK || !ready)
		return status;
	/*
	 * The process may be allowed to lock only little memory, so first deregister memory that
	 * the device no longer needs.
	 */
	ina_memory_release(apart->beside->memory, ina_innet_acknowledged(apart->beside));
	status = share_memory_out(apart, failure);
	if (status != INA_OK)
		return status;
	apart->stage = INA_APART_OPEN;
	return begin(apart, &apart->waiting, failure);
}

static struct ina_vote vote_of(const struct ina_apart *apart, struct ina_failure *failed)
{
	*failed = (struct ina_failure){INA_OK, ""};
	return (struct ina_vote){.what = "",
	                         .doing = "enter the call",
	                         .call = apart->turn->current,
	                         .failed = failed};
}

static enum ina_status go_on_gathering(struct ina_apart *apart, struct ina_failure *failure)
{
	struct ina_failure failed;
	const struct ina_vote vote = vote_of(apart, &failed);
	uint32_t ignored;

	switch (ina_agree_poll(apart->hosts.completing.completions->control, &vote,
	                       apart->turn->deadline_ms, &ignored, failure)) {
	case INA_PENDING:
	case INA_DISTURBED: /* the engine handles this first; the votes stay valid */
		return INA_OK;
	case INA_NOT_AGREED:
		return failure->status;
	case INA_AGREED:
		break;
	}
	apart->stage = INA_APART_CONNECTING;
	if (ina_manager_begin(transport_of(apart), INA_PURPOSE_APART, failure) != INA_OK)
		return failure->status;
	return go_on_connecting(apart, failure);
}

enum ina_status ina_apart_go_on(void *self, struct ina_failure *failure)
{
	struct ina_apart *apart = self;

	if (apart->stage == INA_APART_GATHERING)
		return go_on_gathering(apart, failure);
	if (apart->stage == INA_APART_CONNECTING)
		return go_on_connecting(apart, failure);
	return ina_hosts_go_on(&apart->hosts, failure);
}

static bool awaits_message(const void *self)
{
	const struct ina_apart *apart = self;

	return !is_opening(apart) && apart->hosts.doubles
	               ? ina_doubling_awaits_message(apart->hosts.doubling)
	               : !is_opening(apart) && ina_ring_awaits_message(&apart->hosts.ring);
}

void ina_apart_attach(struct ina_apart *apart, const struct ina_completions *completions,
                      struct ina_doubling *doubling, const struct ina_connection_context *like)
{
	ina_hosts_attach(&apart->hosts, completions, doubling);
	apart->hosts.completing =
	        (struct ina_completing){completions, awaits_message, ina_apart_go_on};
	apart->like = like;
}

/* The row of functions. */

static enum ina_status row_start(void *self, const struct ina_transfer *transfer,
                                 struct ina_failure *failure)
{
	struct ina_apart *apart = self;
	struct ina_failure failed;
	struct ina_vote vote;

	if (apart->stage == INA_APART_OPEN || ina_doubling_takes(apart->hosts.doubling, transfer))
		return begin(apart, transfer, failure);
	apart->waiting = *transfer;
	apart->stage = INA_APART_GATHERING;
	vote = vote_of(apart, &failed);
	ina_agree_begin(apart->hosts.completing.completions->control, &vote);
	return INA_OK;
}

static enum ina_status row_advance(void *self, bool before_wait, bool *moved,
                                   struct ina_failure *failure)
{
	struct ina_apart *apart = self;
	enum ina_status status = ina_completing_advance(self, before_wait, moved, failure);

	if (status != INA_OK || *moved || !is_opening(apart))
		return status;
	/*
	 * Opening waits for the control channel and the connection manager, which cause no
	 * completions.
	 */
	status = ina_apart_go_on(apart, failure);
	*moved = !is_opening(apart);
	return status;
}

static bool row_is_done(const void *self)
{
	const struct ina_apart *apart = self;

	return !is_opening(apart) && ina_hosts_algorithm.is_done(&apart->hosts);
}

static bool row_end(void *self, struct ina_stats *stats, uint64_t *until)
{
	return ina_hosts_algorithm.end(&((struct ina_apart *)self)->hosts, stats, until);
}

static void row_abort(void *self)
{
	ina_hosts_algorithm.abort(&((struct ina_apart *)self)->hosts);
}

static uint32_t row_position(const void *self)
{
	const struct ina_apart *apart = self;

	return is_opening(apart) ? 0 : ina_hosts_algorithm.position(&apart->hosts);
}

static void row_explain_timeout(const void *self, int timeout_ms, struct ina_failure *failure)
{
	const struct ina_apart *apart = self;

	if (apart->stage == INA_APART_GATHERING)
		ina_fail(failure, INA_ERR_TIMEOUT,
		         "timed out after %d ms waiting for all ranks to enter the call",
		         timeout_ms);
	else if (apart->stage == INA_APART_CONNECTING)
		ina_fail(failure, INA_ERR_TIMEOUT,
		         "timed out after %d ms connecting to its neighbours", timeout_ms);
	else
		ina_hosts_algorithm.explain_timeout(&apart->hosts, timeout_ms, failure);
}

const struct ina_algorithm_row ina_apart_algorithm = {
        .registers = true,
        .start = row_start,
        .advance = row_advance,
        .wait = ina_completing_wait,
        .is_done = row_is_done,
        .end = row_end,
        .abort = row_abort,
        .pollfds = ina_completing_pollfds,
        .arm = ina_completing_arm,
        .position = row_position,
        .explain_timeout = row_explain_timeout,
};
