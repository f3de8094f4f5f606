/* SPDX-License-Identifier: Apache-2.0 */
/* Makes connections step by step, on the events of the connection manager. */
#include "manager.h"

#include <errno.h>
#include <string.h>

#include "device.h"
#include "label.h"
#include "wire/ina_wire.h"

#define PRIVATE_MAGIC 0x4D43414Eu /* "NACM" */

#define RNR_RETRY_COUNT 7 /* without limit */

#define RESOLVE_TIMEOUT_MS 10000

/* Identifies a connection request. Requests without the right values are from unknown peers. */
struct private_data {
	uint32_t magic;
	uint32_t purpose;
	uint32_t rank;
	uint32_t reserved;
	uint64_t job_id;
};

static enum ina_status make_qp(struct ina_transport *transport, struct rdma_cm_id *id,
                               enum ina_purpose purpose, struct ina_failure *failure)
{
	bool aggregates = purpose == INA_PURPOSE_AGGREGATE;
	const struct ibv_qp_cap room = ina_transport_room(transport);
	struct ibv_qp_init_attr attributes = {
	        .send_cq = transport->cq,
	        .recv_cq = transport->cq,
	        .cap = room,
	        .qp_type = IBV_QPT_RC,
	        .sq_sig_all = 1,
	};

	if (id->verbs != transport->listener->verbs)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "the route to the neighbour does not use %s: set INA_BIND to the "
		                "address to use",
		                transport->device);
	if (rdma_create_qp(id, transport->pd, &attributes) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "%s: cannot create a queue pair: %s",
		                transport->device, strerror(errno));
	if (ina_queue_pair_add(&transport->pairs, id, room.max_send_wr, room.max_recv_wr,
	                       aggregates ? ina_flow_label(transport->tree) : 0,
	                       transport->path_mtu) != 0)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for a queue pair's requests");
	if (rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &transport->ack_timeout,
	                    sizeof(transport->ack_timeout)) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "%s: cannot set the ACK timeout: %s",
		                transport->device, strerror(errno));
	return INA_OK;
}

static struct rdma_conn_param connection_parameters(const struct ina_transport *transport,
                                                    const struct private_data *data)
{
	return (struct rdma_conn_param){
	        .private_data = data,
	        .private_data_len = data ? sizeof(*data) : 0,
	        .responder_resources = 1,
	        .initiator_depth = 1,
	        .retry_count = transport->retry_count,
	        .rnr_retry_count = RNR_RETRY_COUNT,
	};
}

/* One end of a connection. */
struct end {
	enum ina_purpose purpose;
	bool connects; /* this end connects; otherwise it accepts */
	int rank;      /* of the other end */
	const struct ina_endpoint *endpoint;
	struct rdma_cm_id **id;
	bool *ready;
	struct ibv_qp **hidden; /* the place of the queue pair while it connects */
};

#define ENDS_MAX (2 * INA_PURPOSE_COUNT + INA_PARTNERS_MAX)

/* Lists all ends that the transport can have, and returns their number. */
static int list_ends(struct ina_transport *transport, struct end ends[ENDS_MAX])
{
	int count = 0;

	for (enum ina_purpose p = 0; p < INA_PURPOSE_COUNT; p++) {
		struct ina_connection *connection = &transport->connections[p];

		ends[count++] = (struct end){p,
		                             true,
		                             transport->next[p].rank,
		                             &transport->next[p].endpoint,
		                             &connection->tx,
		                             &connection->tx_ready,
		                             &connection->hidden};
		ends[count++] = (struct end){p,
		                             false,
		                             transport->previous[p].rank,
		                             &transport->previous[p].endpoint,
		                             &connection->rx,
		                             &connection->rx_ready,
		                             NULL};
	}
	for (int i = 0; i < transport->partner_count; i++) {
		struct ina_partner *partner = &transport->partners[i];

		ends[count++] = (struct end){INA_PURPOSE_PARTNER, transport->rank < partner->rank,
		                             partner->rank,       &partner->endpoint,
		                             &partner->id,        &partner->ready,
		                             &partner->hidden};
	}
	return count;
}

static enum ina_status begin(struct ina_transport *transport, const struct end *end,
                             struct ina_failure *failure)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr = {transport->local.address}};
	struct sockaddr_in to = {.sin_family = AF_INET,
	                         .sin_port = end->endpoint->port,
	                         .sin_addr = {end->endpoint->address}};
	uint8_t traffic_class = end->purpose == INA_PURPOSE_AGGREGATE ? transport->aggregate_class
	                                                              : transport->other_class;

	if (rdma_create_id(transport->events, end->id, NULL, RDMA_PS_TCP) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "cannot create an RDMA id: %s",
		                strerror(errno));
	if (traffic_class != 0 && rdma_set_option(*end->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
	                                          &traffic_class, sizeof(traffic_class)) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "cannot set the traffic class: %s",
		                strerror(errno));
	if (rdma_resolve_addr(*end->id, (struct sockaddr *)&from, (struct sockaddr *)&to,
	                      RESOLVE_TIMEOUT_MS) != 0)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "cannot resolve the address of rank %d: %s", end->rank,
		                strerror(errno));
	return INA_OK;
}

enum ina_status ina_manager_begin(struct ina_transport *transport, enum ina_purpose purpose,
                                  struct ina_failure *failure)
{
	struct end ends[ENDS_MAX];
	int count = list_ends(transport, ends);
	enum ina_status status = INA_OK;

	transport->attempt = (struct ina_failure){INA_OK, ""};
	if (!ina_transport_is_up(transport))
		return ina_fail(failure, INA_ERR_DEVICE,
		                "port %u of %s is down: is its network interface up?",
		                transport->listener->port_num, transport->device);
	if (purpose < INA_PURPOSE_COUNT)
		transport->connections[purpose].wanted = true;
	for (int i = 0; i < count && status == INA_OK; i++) {
		if (ends[i].purpose == purpose && ends[i].connects)
			status = begin(transport, &ends[i], failure);
	}
	return status;
}

static enum ina_status request_connection(struct ina_transport *transport, const struct end *end,
                                          struct ina_failure *failure)
{
	struct private_data data = {
	        .magic = PRIVATE_MAGIC,
	        .purpose = end->purpose,
	        .rank = (uint32_t)transport->rank,
	        .job_id = transport->job_id,
	};
	struct rdma_conn_param parameters = connection_parameters(transport, &data);
	enum ina_status status = make_qp(transport, *end->id, end->purpose, failure);

	if (status != INA_OK)
		return status;
	if (ina_label_connect(*end->id, &parameters, end->hidden) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "cannot connect to rank %d: %s", end->rank,
		                strerror(errno));
	return INA_OK;
}

/* Does the end wait for this request? */
static bool awaits(const struct end *end, const struct private_data *data)
{
	return !end->connects && !*end->id && end->purpose == data->purpose &&
	       (uint32_t)end->rank == data->rank;
}

/*
 * Handles a connection request: accepts that of a neighbour or partner; rejects that of an unknown
 * peer and counts it.
 */
static enum ina_status answer_request(struct ina_transport *transport, struct rdma_cm_event *event,
                                      struct ina_failure *failure)
{
	struct rdma_cm_id *id = event->id;
	struct private_data data = {0};
	struct rdma_conn_param parameters = connection_parameters(transport, NULL);
	struct end ends[ENDS_MAX];
	int count = list_ends(transport, ends);
	int place = 0;
	enum ina_status status;

	if (event->param.conn.private_data && event->param.conn.private_data_len >= sizeof(data))
		memcpy(&data, event->param.conn.private_data, sizeof(data));
	while (place < count && !awaits(&ends[place], &data))
		place++;
	if (data.magic != PRIVATE_MAGIC || data.job_id != transport->job_id || place == count) {
		transport->unknown_peers++;
		rdma_reject(id, NULL, 0);
		rdma_ack_cm_event(event);
		rdma_destroy_id(id);
		return INA_OK;
	}
	rdma_ack_cm_event(event);
	*ends[place].id = id;
	status = make_qp(transport, id, ends[place].purpose, failure);
	if (status != INA_OK)
		return status;
	if (ina_label_accept(id, &parameters) != 0)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "cannot accept the connection of rank %d: %s", ends[place].rank,
		                strerror(errno));
	return INA_OK;
}

static enum ina_status finish(struct ina_transport *transport, const struct end *end,
                              struct ina_failure *failure)
{
	int error = ina_label_finish(*end->id, end->hidden);

	if (error != 0)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "%s: cannot set up the connection to rank %d: %s",
		                transport->device, end->rank, strerror(error));
	*end->ready = true;
	return INA_OK;
}

/* Handles one event of a connection that is being made, and takes the next step. */
static enum ina_status go_on_connecting(struct ina_transport *transport, const struct end *end,
                                        enum rdma_cm_event_type type, int status,
                                        struct ina_failure *failure)
{
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(*end->id, RESOLVE_TIMEOUT_MS) != 0)
			return ina_fail(failure, INA_ERR_DEVICE, "no route to rank %d: %s",
			                end->rank, strerror(errno));
		return INA_OK;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return request_connection(transport, end, failure);
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		return finish(transport, end, failure);
	case RDMA_CM_EVENT_ESTABLISHED:
		*end->ready = true;
		return INA_OK;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
		return ina_fail(failure, INA_ERR_DEVICE, "connection %s rank %d: %s (%d)",
		                end->connects ? "to" : "from", end->rank, rdma_event_str(type),
		                status);
	default:
		return INA_OK;
	}
}

/* Handles an event and acknowledges it. */
static enum ina_status take_event(struct ina_transport *transport, struct rdma_cm_event *event,
                                  struct ina_failure *failure)
{
	struct rdma_cm_id *id = event->id;
	enum rdma_cm_event_type type = event->event;
	int status = event->status;
	struct end ends[ENDS_MAX];
	int count = list_ends(transport, ends);
	struct ina_failure own = {INA_OK, ""};

	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		answer_request(transport, event, &own);
	else
		rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		return ina_device_gone(transport->device, failure);
	/* If a ready connection ends, completions and the control channel report that. */
	for (int i = 0; i < count && type != RDMA_CM_EVENT_CONNECT_REQUEST; i++) {
		if (*ends[i].id == id && !*ends[i].ready)
			go_on_connecting(transport, &ends[i], type, status, &own);
	}
	if (own.status != INA_OK && transport->attempt.status == INA_OK)
		transport->attempt = own;
	return INA_OK;
}

enum ina_status ina_manager_attend(struct ina_transport *transport, struct ina_failure *failure)
{
	struct rdma_cm_event *event;

	while (rdma_get_cm_event(transport->events, &event) == 0) {
		enum ina_status status = take_event(transport, event, failure);

		if (status != INA_OK)
			return status;
	}
	if (errno != EAGAIN && errno != EINTR)
		return ina_fail(failure, INA_ERR_DEVICE, "cannot read RDMA events: %s",
		                strerror(errno));
	return INA_OK;
}
