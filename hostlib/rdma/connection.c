/* SPDX-License-Identifier: Apache-2.0 */
/* Makes connections, with a deadline for every wait. */
#include "connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/interrupted.h"
#include "device.h"
#include "hostlib/control/agreement.h"
#include "hostlib/control/telling.h"
#include "manager.h"

#define TICK_MS 200

static const char *purpose_name(enum ina_purpose purpose)
{
	return purpose == INA_PURPOSE_AGGREGATE ? "aggregation" : "ring";
}

/*
 * Writes the name of a connection that is still missing, such as "the aggregation connection from
 * rank 2". Returns NULL if none is missing.
 */
static const char *missing_connection(const struct ina_transport *transport, char *text,
                                      size_t size)
{
	for (enum ina_purpose p = 0; p < INA_PURPOSE_COUNT; p++) {
		if (!transport->connections[p].wanted)
			continue;
		if (!transport->connections[p].tx_ready) {
			snprintf(text, size, "the %s connection to rank %d", purpose_name(p),
			         transport->next[p].rank);
			return text;
		}
		if (!transport->connections[p].rx_ready) {
			snprintf(text, size, "the %s connection from rank %d", purpose_name(p),
			         transport->previous[p].rank);
			return text;
		}
	}
	for (int i = 0; i < transport->partner_count; i++) {
		if (!transport->partners[i].ready) {
			snprintf(text, size, "the connection to rank %d",
			         transport->partners[i].rank);
			return text;
		}
	}
	return NULL;
}

static enum ina_status set_rnr_timer(const struct ina_transport *transport, struct ibv_qp *qp,
                                     struct ina_failure *failure)
{
	struct ibv_qp_attr rnr = {.qp_state = IBV_QPS_RTS, .min_rnr_timer = INA_MIN_RNR_TIMER};
	int error = ibv_modify_qp(qp, &rnr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER);

	return error == 0 ? INA_OK
	                  : ina_fail(failure, INA_ERR_DEVICE, "%s: cannot set the RNR timer: %s",
	                             transport->device, strerror(error));
}

/*
 * Sets values for which the connection manager's defaults do not suit us, and reads the path MTU.
 */
static enum ina_status tune(struct ina_transport *transport, struct ina_failure *failure)
{
	enum ina_status status = INA_OK;

	for (int p = 0; p < INA_PURPOSE_COUNT && status == INA_OK; p++) {
		if (!transport->connections[p].wanted)
			continue;
		status = set_rnr_timer(transport, transport->connections[p].tx->qp, failure);
		if (status == INA_OK)
			status =
			        set_rnr_timer(transport, transport->connections[p].rx->qp, failure);
	}
	for (int i = 0; i < transport->partner_count && status == INA_OK; i++)
		status = set_rnr_timer(transport, transport->partners[i].id->qp, failure);
	if (status != INA_OK)
		return status;
	struct ibv_qp_attr attributes = {0};
	struct ibv_qp_init_attr init = {0};
	struct ibv_gid_entry gid;
	/* Without an aggregator there may be no connection for aggregation. */
	bool aggregates = transport->connections[INA_PURPOSE_AGGREGATE].wanted;
	struct rdma_cm_id *id =
	        transport->connections[aggregates ? INA_PURPOSE_AGGREGATE : INA_PURPOSE_RING].tx;
	int error = ibv_query_qp(id->qp, &attributes, IBV_QP_PATH_MTU | IBV_QP_AV, &init);

	if (error != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "%s: cannot read the path MTU: %s",
		                transport->device, strerror(error));
	transport->path_mtu = 128u << attributes.path_mtu; /* IBV_MTU_256 is 1 */
	transport->gid_index = attributes.ah_attr.grh.sgid_index;
	/* A device that does not report it is accepted. */
	if (ibv_query_gid_ex(id->verbs, id->port_num, (uint32_t)transport->gid_index, &gid, 0) != 0)
		gid = (struct ibv_gid_entry){.gid_type = IBV_GID_TYPE_ROCE_V2};
	transport->gid = gid.gid;
	return ina_device_check_gid(transport->device, id->port_num, gid.gid_type, failure);
}

enum ina_status ina_transport_attend(struct ina_transport *transport, struct ina_failure *failure)
{
	struct pollfd fds[INA_TRANSPORT_FDS];

	if (ina_poll(fds, (nfds_t)ina_transport_pollfds(transport, fds), 0) <= 0)
		return INA_OK;
	/* The kernel has closed its side of the descriptor: the device was removed. */
	for (int i = 0; i < INA_TRANSPORT_FDS; i++) {
		if (fds[i].revents & (POLLERR | POLLHUP | POLLNVAL))
			return ina_device_gone(transport->device, failure);
	}
	if (fds[1].revents && ina_device_has_failed(transport->listener->verbs, transport->cq))
		return ina_device_gone(transport->device, failure);
	return fds[2].revents ? ina_manager_attend(transport, failure) : INA_OK;
}

enum ina_status ina_transport_look(const struct ina_transport *transport,
                                   struct ina_failure *failure)
{
	static const union ibv_gid unknown;
	struct ibv_context *context = transport->listener->verbs;
	const uint8_t number = transport->listener->port_num;
	struct ibv_port_attr port;
	char host[INET_ADDRSTRLEN];
	union ibv_gid gid;
	unsigned int mtu;

	/* A device that does not report its GID passes the check. */
	if (memcmp(&transport->gid, &unknown, sizeof(gid)) != 0 &&
	    ibv_query_gid(context, number, transport->gid_index, &gid) == 0 &&
	    memcmp(&transport->gid, &gid, sizeof(gid)) != 0)
		return ina_fail(
		        failure, INA_ERR_DEVICE,
		        "the address %s of %s was removed or changed since the communicator "
		        "was opened",
		        inet_ntop(AF_INET, &transport->local.address, host, sizeof(host)),
		        transport->device);
	if (ibv_query_port(context, number, &port) != 0)
		return INA_OK;
	mtu = 128u << port.active_mtu; /* IBV_MTU_256 is 1 */
	if (mtu >= transport->path_mtu)
		return INA_OK;
	return ina_fail(failure, INA_ERR_DEVICE,
	                "the path MTU of %s fell from %u to %u since the communicator was opened: "
	                "the MTU of its network interface has changed",
	                transport->device, transport->path_mtu, mtu);
}

enum ina_status ina_transport_step(struct ina_transport *transport, bool *ready,
                                   struct ina_failure *failure)
{
	char missing[80];
	enum ina_status status = ina_transport_attend(transport, failure);

	if (status == INA_OK && transport->attempt.status != INA_OK) {
		*failure = transport->attempt;
		status = failure->status;
	}
	*ready = status == INA_OK && !missing_connection(transport, missing, sizeof(missing));
	return *ready ? tune(transport, failure) : status;
}

static void find_partners(struct ina_transport *transport)
{
	int partners[INA_PARTNERS_MAX];
	bool adds;
	bool is_added;

	transport->partner_count =
	        ina_partners(transport->rank, transport->ranks, partners, &adds, &is_added);
	for (int i = 0; i < transport->partner_count; i++)
		transport->partners[i] = (struct ina_partner){
		        .rank = partners[i], .endpoint = transport->endpoints[partners[i]]};
}

void ina_transport_set_neighbours(struct ina_transport *transport, enum ina_purpose purpose,
                                  int next, int previous)
{
	transport->next[purpose] = (struct ina_neighbour){next, transport->endpoints[next]};
	transport->previous[purpose] =
	        (struct ina_neighbour){previous, transport->endpoints[previous]};
}

void ina_transport_set_rank_order(struct ina_transport *transport, enum ina_purpose purpose)
{
	ina_transport_set_neighbours(transport, purpose,
	                             ina_successor(transport->rank, transport->ranks),
	                             ina_predecessor(transport->rank, transport->ranks));
}

enum ina_status ina_transport_step_until(struct ina_transport *transport,
                                         struct ina_control *control, int64_t deadline_ms,
                                         bool *ready, struct ina_failure *failure)
{
	char missing[80];
	enum ina_status status = ina_transport_step(transport, ready, failure);

	if (status != INA_OK || *ready)
		return status;
	if (ina_open_failed_elsewhere(control, failure))
		return failure->status;
	if (ina_now_ms() < deadline_ms)
		return INA_OK;
	return ina_fail(failure, INA_ERR_TIMEOUT, "%s was not established in time",
	                missing_connection(transport, missing, sizeof(missing)));
}

/* Waits until all connections are ready. */
static enum ina_status await_connections(struct ina_transport *transport,
                                         struct ina_control *control, int64_t deadline_ms,
                                         struct ina_failure *failure)
{
	for (;;) {
		struct pollfd fds[INA_NEIGHBOURS_MAX + INA_TRANSPORT_FDS];
		bool ready;
		int count;
		enum ina_status status =
		        ina_transport_step_until(transport, control, deadline_ms, &ready, failure);

		if (status != INA_OK || ready)
			return status;
		count = ina_control_pollfds(control, fds);
		ina_transport_pollfds(transport, fds + count);
		/* Ignore completions here, and wake only if the channel fails. */
		fds[count].events = 0;
		count += INA_TRANSPORT_FDS;
		poll(fds, (nfds_t)count, ina_left_ms(deadline_ms, TICK_MS));
	}
}

enum ina_status ina_transport_connect(struct ina_transport *transport, struct ina_control *control,
                                      const struct ina_roster *roster, int64_t deadline_ms,
                                      struct ina_failure *failure)
{
	static const enum ina_purpose at_open[] = {INA_PURPOSE_AGGREGATE, INA_PURPOSE_RING,
	                                           INA_PURPOSE_PARTNER};
	size_t bytes = (size_t)transport->ranks * sizeof(*transport->endpoints);

	transport->job_id = roster->job_id;
	transport->endpoints = malloc(bytes);
	if (!transport->endpoints)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for the ranks' addresses");
	memcpy(transport->endpoints, roster->endpoints, bytes);
	transport->path_mtu = ina_path_mtu(transport->local.mtu);
	for (int r = 0; r < transport->ranks; r++) {
		unsigned int path_mtu = ina_path_mtu(roster->endpoints[r].mtu);

		if (path_mtu < transport->path_mtu)
			transport->path_mtu = path_mtu;
	}
	for (int p = 0; p < INA_PURPOSE_COUNT; p++)
		ina_transport_set_rank_order(transport, (enum ina_purpose)p);
	find_partners(transport);
	for (size_t i = 0; i < sizeof(at_open) / sizeof(at_open[0]); i++) {
		enum ina_status status = ina_manager_begin(transport, at_open[i], failure);

		if (status != INA_OK)
			return status;
	}
	return await_connections(transport, control, deadline_ms, failure);
}
