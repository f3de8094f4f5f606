/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The algorithms on one network: divides the memory among them, and passes each completion to its
 * algorithm.
 */
#include "network.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "common/deadline.h"
#include "hostlib/control/agreement.h"
#include "hostlib/rdma/connection.h"

/* The longest wait before the code checks the deadline again. */
#define TICK_MS 1000

static bool is_aggregated(enum ina_work work)
{
	return work == INA_WORK_WINDOW_SEND || work == INA_WORK_WINDOW_RECEIVE;
}

/* Writes the name of a work request's connection, such as "the ring connection to rank 2". */
static void name_connection(const struct ina_transport *transport, const struct ibv_wc *wc,
                            char *text, size_t size)
{
	enum ina_work work = (enum ina_work)(wc->wr_id >> 32);
	enum ina_purpose purpose = is_aggregated(work) ? INA_PURPOSE_AGGREGATE : INA_PURPOSE_RING;
	bool outward = work == INA_WORK_WINDOW_SEND || work == INA_WORK_RING_SEND ||
	               work == INA_WORK_CREDIT_RECEIVE;

	if (work == INA_WORK_PARTNER_SEND || work == INA_WORK_PARTNER_RECEIVE)
		snprintf(text, size, "the connection to rank %d",
		         transport->partners[(uint32_t)wc->wr_id].rank);
	else
		snprintf(text, size, "the %s connection %s rank %d",
		         is_aggregated(work) ? "aggregation" : "ring", outward ? "to" : "from",
		         (outward ? transport->next : transport->previous)[purpose].rank);
}

static enum ina_status explain(const struct ina_transport *transport, const struct ibv_wc *wc,
                               struct ina_failure *failure)
{
	struct ina_failure cause;
	char host[INET_ADDRSTRLEN];
	enum ina_status status;
	char name[64];

	name_connection(transport, wc, name, sizeof(name));
	/* The message is longer than the receive: rdma_rxe reports REM_INV_REQ on both sides. */
	if (wc->status == IBV_WC_LOC_LEN_ERR || wc->status == IBV_WC_REM_INV_REQ_ERR)
		return ina_fail(failure, INA_ERR_MISMATCH,
		                "a message on %s is longer than its receiver expects", name);
	/* Without this connection the hosts can continue; without any other they cannot. */
	status = is_aggregated((enum ina_work)(wc->wr_id >> 32)) ? INA_ERR_AGGREGATOR
	                                                         : INA_ERR_DEVICE;
	if (ina_transport_look(transport, &cause) != INA_OK)
		return ina_fail(failure, status, "%s failed: %s", name, cause.text);
	/*
	 * rdma_rxe cannot make a packet: the address of the connection was removed, even if it
	 * exists again by now.
	 */
	if (wc->status == IBV_WC_LOC_QP_OP_ERR)
		return ina_fail(failure, status,
		                "%s failed: %s can no longer send from its address %s (%s): was it "
		                "removed or given anew, or the interface changed, since the "
		                "communicator was opened?",
		                name, transport->device,
		                inet_ntop(AF_INET, &transport->local.address, host, sizeof(host)),
		                ibv_wc_status_str(wc->status));
	return ina_fail(failure, status, "%s failed: %s (vendor 0x%x)", name,
	                ibv_wc_status_str(wc->status), wc->vendor_err);
}

static enum ina_status take_aggregated(struct ina_network *network, const struct ibv_wc *wc,
                                       struct ina_failure *failure)
{
	struct ina_innet *innet = &network->innet;
	bool is_send = wc->wr_id >> 32 == INA_WORK_WINDOW_SEND;

	if (is_send && (wc->status == IBV_WC_SUCCESS || !ina_innet_is_busy(innet)))
		ina_innet_sent(innet);
	if (!ina_innet_is_busy(innet))
		/* from a transfer that is done, or from an abandoned JOIN or LEAVE */
		return INA_OK;
	if (wc->status != IBV_WC_SUCCESS)
		return explain(&network->transport, wc, failure);
	return is_send ? INA_OK : ina_innet_received(innet, wc->byte_len, failure);
}

static enum ina_status take(void *context, const struct ibv_wc *wc, struct ina_failure *failure)
{
	struct ina_network *network = context;
	struct ina_ring *ring = (uint32_t)wc->wr_id == INA_APART_EPOCH ? &network->apart.hosts.ring
	                                                               : &network->hosts.ring;
	struct ina_doubling *doubling = &network->doubling;
	enum ina_work work = (enum ina_work)(wc->wr_id >> 32);
	enum ina_status status;

	if (work == INA_WORK_LOOKOUT_SEND || work == INA_WORK_LOOKOUT_RECEIVE) {
		if ((uint32_t)wc->wr_id == network->innet.connection.epoch)
			ina_lookout_take(&network->lookout, wc);
		return INA_OK;
	}
	if (is_aggregated(work)) {
		if ((uint32_t)wc->wr_id != network->innet.connection.epoch)
			return INA_OK; /* from a connection that no longer exists */
		status = take_aggregated(network, wc, failure);
		if (status != INA_OK)
			/* this connection is not used any more either */
			network->innet.connection.epoch++;
		return status;
	}
	if (wc->status != IBV_WC_SUCCESS)
		return explain(&network->transport, wc, failure);
	switch (work) {
	case INA_WORK_RING_SEND:
		ina_ring_sent(ring);
		return INA_OK;
	case INA_WORK_RING_RECEIVE:
		return ina_ring_received(ring, wc->byte_len, failure);
	case INA_WORK_CREDIT_SEND:
		ina_ring_credit_sent(ring);
		return INA_OK;
	case INA_WORK_CREDIT_RECEIVE:
		return ina_ring_credited(ring, ntohl(wc->imm_data), failure);
	case INA_WORK_PARTNER_SEND:
		ina_doubling_sent(doubling, (uint32_t)wc->wr_id);
		return INA_OK;
	case INA_WORK_PARTNER_RECEIVE:
		ina_doubling_received(doubling, (uint32_t)wc->wr_id, wc->byte_len);
		return INA_OK;
	case INA_WORK_WINDOW_SEND:
	case INA_WORK_WINDOW_RECEIVE:
	case INA_WORK_LOOKOUT_SEND:
	case INA_WORK_LOOKOUT_RECEIVE:
		break;
	}
	return ina_fail(failure, INA_ERR_DEVICE, "%s: unexpected completion",
	                network->transport.device);
}

/* Bytes of elements in a window; the same for every length of messages. */
static size_t room_of(const struct ina_network *network)
{
	return (size_t)network->window_packets * network->transport.path_mtu;
}

/*
 * The memory has this number of pieces, each for a window's elements: two for staging, one for the
 * spare, and one for copies.
 */
#define PIECES 4u

/*
 * Slots for both connections' sends, the ring's receives, and the aggregated connection's receives.
 */
static size_t slot_count(const struct ina_settings *settings)
{
	const size_t most = ina_window_most(settings->options.window);

	return 4 * most + (settings->receives > most ? settings->receives : most);
}

static void share_memory_out(struct ina_network *network, const struct ina_settings *settings,
                             uint64_t job_id)
{
	const struct ina_options *options = &settings->options;
	struct ina_connection *connections = network->transport.connections;
	struct ina_innet *innet = &network->innet;
	struct ina_slot *slots = network->memory.slab;
	int rank = options->rank;
	int ranks = options->ranks;
	const uint32_t most = ina_window_most(options->window);
	const size_t room = room_of(network);
	struct ina_connection_context context = {
	        .lkey = network->memory.slab_mr->lkey,
	        .window = options->window,
	        .limit_bytes = options->message_bytes - (uint32_t)INA_MESSAGE_FRAMING,
	        .path_mtu = network->transport.path_mtu,
	        .rank = rank,
	        .ranks = ranks,
	        /*
	         * The algorithms share this memory, since only one of them works at a time. When
	         * the ring takes over, the sums that the in-network algorithm keeps are in the
	         * spare.
	         */
	        .staging = (uint8_t *)(slots + slot_count(settings)),
	        .copies = (uint8_t *)(slots + slot_count(settings)) + 3 * room,
	        .context = {.job_id = job_id,
	                    .rank_count = (uint16_t)ranks,
	                    .rank = (uint32_t)rank},
	};

	context.tx = connections[INA_PURPOSE_AGGREGATE].tx->qp;
	context.rx = connections[INA_PURPOSE_AGGREGATE].rx->qp;
	context.tx_slots = slots;
	context.rx_slots = slots + 4 * most;
	innet->connection = context;
	innet->congestion.is_controlled = options->congestion_control != 0;
	ina_congestion_reset(&innet->congestion, options->window);
	innet->receives = settings->receives;
	innet->keeps = !network->plain;
	innet->contributors_due = network->plain ? 1 : (uint32_t)ranks;
	innet->rank_due = (uint32_t)(network->plain ? ina_predecessor(rank, ranks) : ranks - 1);
	context.tx = connections[INA_PURPOSE_RING].tx->qp;
	context.rx = connections[INA_PURPOSE_RING].rx->qp;
	context.tx_slots = slots + most;
	context.rx_slots = slots + 2 * most;
	network->hosts.ring.connection = context;
	network->spare = context.staging + 2 * room;
}

enum ina_status ina_network_open(struct ina_network *network, struct ina_control *control,
                                 struct ina_settings *settings, uint64_t job_id,
                                 struct ina_failure *failure)
{
	struct ina_options *options = &settings->options;
	size_t ranks = (size_t)options->ranks;
	size_t window_bytes;
	size_t doubling_bytes = ina_doubling_memory(network->transport.partner_count);
	struct ina_path *paths;
	struct ina_slot *leave_slot;
	struct ina_lookout_memory *lookout;
	enum ina_status status = ina_settings_fit(settings, network->transport.path_mtu,
	                                          &network->window_packets, failure);

	if (status != INA_OK)
		return status;
	window_bytes = slot_count(settings) * sizeof(struct ina_slot) + PIECES * room_of(network);
	status = ina_memory_open(&network->memory, network->transport.pd,
	                         window_bytes + doubling_bytes +
	                                 ranks * (sizeof(*paths) + sizeof(int)) +
	                                 sizeof(*leave_slot) + sizeof(*lookout),
	                         failure);
	if (status != INA_OK)
		return status;
	network->completions = (struct ina_completions){
	        .transport = &network->transport,
	        .control = control,
	        .poll_count = options->poll_count,
	        .take = take,
	        .context = network,
	};
	ina_innet_attach(&network->innet, &network->completions);
	ina_hosts_attach(&network->hosts, &network->completions, &network->doubling);
	network->innet.memory = &network->memory;
	share_memory_out(network, settings, job_id);
	paths = (struct ina_path *)((uint8_t *)network->memory.slab + window_bytes +
	                            doubling_bytes);
	leave_slot = (struct ina_slot *)(paths + ranks);
	network->innet.leave_slot = leave_slot;
	lookout = (struct ina_lookout_memory *)(leave_slot + 1);
	ina_lookout_attach(&network->lookout, &network->innet.connection, lookout);
	ina_tree_make(&network->tree, paths, (int *)(lookout + 1), options->ranks);
	ina_apart_attach(&network->apart, &network->completions, &network->doubling,
	                 &network->hosts.ring.connection);
	network->apart.beside = &network->innet;
	status = ina_ring_open(&network->hosts.ring, failure);
	if (status != INA_OK)
		return status;
	return ina_doubling_open(&network->doubling, &network->transport,
	                         &network->hosts.ring.connection.context,
	                         (uint8_t *)network->memory.slab + window_bytes,
	                         network->memory.slab_mr->lkey, failure);
}

void ina_network_close(struct ina_network *network)
{
	ina_transport_disconnect(&network->transport);
	ina_memory_close(&network->apart.memory);
	ina_memory_close(&network->memory);
	ina_transport_close(&network->transport);
}

bool ina_network_join_is_over(const struct ina_network *network)
{
	return ina_innet_is_exchanged(&network->innet) || ina_innet_is_refused(&network->innet) ||
	       ina_agree_has_failed(network->completions.control);
}

void ina_network_leave(struct ina_network *network, int timeout_ms)
{
	static const struct ina_transfer nothing;
	struct ina_innet *innet = &network->innet;
	int64_t deadline_ms = ina_now_ms() + timeout_ms;
	struct ina_failure ignored;
	int count;

	ina_innet_start(innet, INA_WIRE_LEAVE, 0, &nothing);
	while (ina_innet_advance(innet, &ignored) == INA_OK && !ina_innet_is_exchanged(innet) &&
	       ina_now_ms() < deadline_ms &&
	       ina_completions_wait(&network->completions, ina_left_ms(deadline_ms, TICK_MS),
	                            &count, &ignored) == INA_OK)
		;
	ina_innet_stop(innet);
}

/*
 * Sets the window of the aggregated connection to the grant; the ring keeps the window of the
 * options.
 */
static void set_window(struct ina_network *network, unsigned int granted_packets)
{
	const struct ina_connection_context *asked = &network->hosts.ring.connection;
	struct ina_innet *innet = &network->innet;
	unsigned int message_bytes = asked->limit_bytes + (unsigned int)INA_MESSAGE_FRAMING;
	unsigned int window = asked->window;

	ina_window_fit(&window, &message_bytes, network->transport.path_mtu, granted_packets);
	innet->connection.window = innet->receives = window;
	innet->connection.limit_bytes = message_bytes - (uint32_t)INA_MESSAGE_FRAMING;
	ina_congestion_reset(&innet->congestion, window);
}

void ina_network_take_grant(struct ina_network *network, uint32_t packets)
{
	network->innet.granted_packets = packets;
	set_window(network, packets);
}

void ina_network_describe(const struct ina_network *network, struct ina_stats *stats)
{
	const struct ina_connection_context *used = stats->algorithm == INA_ALGORITHM_INA
	                                                    ? &network->innet.connection
	                                                    : &network->hosts.ring.connection;

	stats->window = used->window;
	stats->message_bytes = used->limit_bytes + (unsigned int)INA_MESSAGE_FRAMING;
}

void ina_network_drop_aggregated(struct ina_network *network)
{
	ina_innet_stop(&network->innet);
	ina_network_end_aggregated(network);
}

void ina_network_end_aggregated(struct ina_network *network)
{
	ina_transport_drop(&network->transport, INA_PURPOSE_AGGREGATE);
	ina_memory_release(&network->memory, UINT64_MAX);
	ina_lookout_end(&network->lookout);
	network->innet.connection.epoch++;
}

void ina_network_renew_aggregated(struct ina_network *network)
{
	const struct ina_connection *made = &network->transport.connections[INA_PURPOSE_AGGREGATE];
	struct ina_connection_context *connection = &network->innet.connection;

	connection->tx = made->tx->qp;
	connection->rx = made->rx->qp;
	connection->context.job_id = network->transport.job_id;
	set_window(network, network->window_packets);
	ina_innet_reset(&network->innet);
	ina_lookout_renew(&network->lookout);
}
