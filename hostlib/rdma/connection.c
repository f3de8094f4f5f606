/* SPDX-License-Identifier: Apache-2.0 */
/* Connections by the RDMA connection manager, every wait bounded. */
#include "connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hostlib/options/address.h"
#include "common/deadline.h"
#include "wire/ina_wire.h"
#include "hostlib/control/agreement.h"

#define PRIVATE_MAGIC 0x4D43414Eu /* "NACM" */

/* 7 is for ever with rdma_rxe, and 7 times with cards. For RNR it is for ever everywhere. */
#define RETRY_COUNT     7
#define RNR_RETRY_COUNT 7

/* 0.64 ms (IBTA vol. 1, table 45): shorter ones cause RNR storms on rdma_rxe. */
#define MIN_RNR_TIMER 12

#define RESOLVE_TIMEOUT_MS 10000
#define TICK_MS            200
#define SGE_COUNT          3

/* Tells one connection request from another, and from unknown_peers. */
struct private_data {
	uint32_t magic;
	uint32_t purpose;
	uint32_t rank;
	uint32_t reserved;
	uint64_t job_id;
};

static const char *purpose_name(enum ina_purpose purpose)
{
	return purpose == INA_PURPOSE_AGGREGATE ? "aggregation" : "ring";
}

/* The IPv4 address of a GID of the form ::ffff:a.b.c.d, or 0. */
static uint32_t gid_address(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
	uint32_t address;

	if (memcmp(gid->raw, prefix, sizeof(prefix)) != 0)
		return 0;
	memcpy(&address, gid->raw + sizeof(prefix), sizeof(address));
	return address;
}

/* An IPv4 address of the device, or of the first one that has one if name is "", or 0. */
static uint32_t device_address(const char *name)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	uint32_t address = 0;

	for (int i = 0; devices && devices[i]; i++) {
		struct ibv_context *context;
		struct ibv_port_attr port;
		union ibv_gid gid;

		if (address != 0)
			break;
		if (name[0] && strcmp(ibv_get_device_name(devices[i]), name) != 0)
			continue;
		context = ibv_open_device(devices[i]);
		if (!context)
			continue;
		if (ibv_query_port(context, 1, &port) == 0) {
			for (int g = 0; g < port.gid_tbl_len && !address; g++) {
				if (ibv_query_gid(context, 1, g, &gid) == 0)
					address = gid_address(&gid);
			}
		}
		ibv_close_device(context);
	}
	if (devices)
		ibv_free_device_list(devices);
	return address;
}

/* The address from which this host would talk to rank 0, or 0. No packet is sent. */
static uint32_t route_address(const struct sockaddr_in *root)
{
	struct sockaddr_in local = {0};
	socklen_t size = sizeof(local);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return 0;
	if (connect(fd, (const struct sockaddr *)root, sizeof(*root)) != 0 ||
	    getsockname(fd, (struct sockaddr *)&local, &size) != 0)
		local.sin_addr.s_addr = 0;
	close(fd);
	return local.sin_addr.s_addr;
}

static enum ina_status find_address(const struct ina_settings *settings,
                                    struct sockaddr_in *address, struct ina_failure *failure)
{
	address->sin_family = AF_INET;
	address->sin_port = 0;
	address->sin_addr = settings->bind.sin_addr;
	if (address->sin_addr.s_addr != 0)
		return INA_OK;
	if (settings->device[0]) {
		address->sin_addr.s_addr = device_address(settings->device);
		if (address->sin_addr.s_addr == 0)
			return ina_fail(
			        failure, INA_ERR_DEVICE,
			        "there is no RDMA device %s with an IPv4 address: see `rdma link`",
			        settings->device);
		return INA_OK;
	}
	address->sin_addr.s_addr = route_address(&settings->root);
	if (address->sin_addr.s_addr == 0)
		return ina_fail(failure, INA_ERR_SYSTEM,
		                "this host has no route to rank 0; is the network up?");
	/* Rank 0 is on this host: any device reaches it, but none has a loopback address. */
	if (ina_is_loopback(address->sin_addr)) {
		uint32_t any = device_address("");

		if (any != 0)
			address->sin_addr.s_addr = any;
	}
	return INA_OK;
}

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static enum ina_status make_queues(struct ina_fabric *fabric, struct ina_failure *failure)
{
	struct ibv_context *context = fabric->listener->verbs;
	/* Two sends and two receives a message of each purpose, and some for credits. */
	int entries = (int)(8 * fabric->window + fabric->receives + 64);

	fabric->pd = ibv_alloc_pd(context);
	fabric->channel = ibv_create_comp_channel(context);
	if (!fabric->pd || !fabric->channel)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "%s: no protection domain or completion channel: %s",
		                fabric->device, strerror(errno));
	fabric->cq = ibv_create_cq(context, entries, NULL, fabric->channel, 0);
	if (!fabric->cq)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "%s: no completion queue of %d entries: %s", fabric->device,
		                entries, strerror(errno));
	if (set_nonblocking(fabric->channel->fd) != 0 || set_nonblocking(context->async_fd) != 0)
		return ina_fail(failure, INA_ERR_SYSTEM, "%s: channels of events: %s",
		                fabric->device, strerror(errno));
	return INA_OK;
}

enum ina_status ina_fabric_open(struct ina_fabric *fabric, const struct ina_settings *settings,
                                struct ina_failure *failure)
{
	struct sockaddr_in address;
	char host[INET_ADDRSTRLEN];
	enum ina_status status;

	memset(fabric, 0, sizeof(*fabric));
	fabric->rank = settings->options.rank;
	fabric->ranks = settings->options.ranks;
	fabric->window = settings->options.window;
	fabric->receives = settings->receives;
	fabric->ack_timeout = (uint8_t)settings->options.ack_timeout;
	status = find_address(settings, &address, failure);
	if (status != INA_OK)
		return status;
	inet_ntop(AF_INET, &address.sin_addr, host, sizeof(host));

	fabric->events = rdma_create_event_channel();
	if (!fabric->events)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "the RDMA connection manager cannot be used: %s; is the kernel's "
		                "rdma_ucm there, and /dev/infiniband/rdma_cm?",
		                strerror(errno));
	if (set_nonblocking(fabric->events->fd) != 0)
		return ina_fail(failure, INA_ERR_SYSTEM, "RDMA event channel: %s", strerror(errno));
	if (rdma_create_id(fabric->events, &fabric->listener, NULL, RDMA_PS_TCP) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "no RDMA id: %s", strerror(errno));
	if (rdma_bind_addr(fabric->listener, (struct sockaddr *)&address) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "RDMA cannot use the address %s: %s", host,
		                strerror(errno));
	if (!fabric->listener->verbs)
		return ina_fail(
		        failure, INA_ERR_DEVICE,
		        "no RDMA device has the address %s: see `rdma link`, or give another by "
		        "INA_BIND",
		        host);
	snprintf(fabric->device, sizeof(fabric->device), "%s",
	         ibv_get_device_name(fabric->listener->verbs->device));
	if (settings->device[0] && strcmp(settings->device, fabric->device) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "the address %s belongs to %s, not to %s",
		                host, fabric->device, settings->device);
	if (rdma_listen(fabric->listener, 16) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "RDMA cannot listen on %s: %s", host,
		                strerror(errno));
	fabric->local.address = address.sin_addr.s_addr;
	fabric->local.port = rdma_get_src_port(fabric->listener);
	return make_queues(fabric, failure);
}

static enum ina_status make_qp(struct ina_fabric *fabric, struct rdma_cm_id *id,
                               struct ina_failure *failure)
{
	/* Of the ring, two windows; and of credits, one and one more. */
	unsigned int receives =
	        fabric->receives > 2 * fabric->window ? fabric->receives : 2 * fabric->window;
	/* Room for messages or credits, a JOIN and a LEAVE, whichever way they go. */
	struct ibv_qp_init_attr attributes = {
	        .send_cq = fabric->cq,
	        .recv_cq = fabric->cq,
	        .cap = {.max_send_wr = fabric->window + 8,
	                .max_recv_wr = receives + 8,
	                .max_send_sge = SGE_COUNT,
	                .max_recv_sge = SGE_COUNT},
	        .qp_type = IBV_QPT_RC,
	        .sq_sig_all = 1,
	};

	if (id->verbs != fabric->listener->verbs)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "the way to the neighbour does not lead over %s: give the address "
		                "to use by "
		                "INA_BIND",
		                fabric->device);
	if (rdma_create_qp(id, fabric->pd, &attributes) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "%s: no queue pair: %s", fabric->device,
		                strerror(errno));
	if (rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &fabric->ack_timeout,
	                    sizeof(fabric->ack_timeout)) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "%s: ACK timeout: %s", fabric->device,
		                strerror(errno));
	return INA_OK;
}

static struct rdma_conn_param connection_parameters(const struct private_data *data)
{
	return (struct rdma_conn_param){
	        .private_data = data,
	        .private_data_len = data ? sizeof(*data) : 0,
	        .responder_resources = 1,
	        .initiator_depth = 1,
	        .retry_count = RETRY_COUNT,
	        .rnr_retry_count = RNR_RETRY_COUNT,
	};
}

enum ina_status ina_fabric_begin(struct ina_fabric *fabric, enum ina_purpose purpose,
                                 struct ina_failure *failure)
{
	const struct ina_endpoint *next = &fabric->next;
	struct ina_connection *connection = &fabric->connections[purpose];
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr = {fabric->local.address}};
	struct sockaddr_in to = {
	        .sin_family = AF_INET, .sin_port = next->port, .sin_addr = {next->address}};
	uint8_t traffic_class = INA_WIRE_TRAFFIC_CLASS;

	fabric->attempt = (struct ina_failure){INA_OK, ""};
	if (rdma_create_id(fabric->events, &connection->tx, NULL, RDMA_PS_TCP) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "no RDMA id: %s", strerror(errno));
	if (purpose == INA_PURPOSE_AGGREGATE &&
	    rdma_set_option(connection->tx, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &traffic_class,
	                    sizeof(traffic_class)) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "the traffic class cannot be set: %s",
		                strerror(errno));
	if (rdma_resolve_addr(connection->tx, (struct sockaddr *)&from, (struct sockaddr *)&to,
	                      RESOLVE_TIMEOUT_MS) != 0)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "the address of rank %d cannot be resolved: %s",
		                ina_successor(fabric->rank, fabric->ranks), strerror(errno));
	return INA_OK;
}

static enum ina_status request_connection(struct ina_fabric *fabric, struct rdma_cm_id *id,
                                          struct ina_failure *failure)
{
	struct private_data data = {
	        .magic = PRIVATE_MAGIC,
	        .purpose = id == fabric->connections[INA_PURPOSE_RING].tx ? INA_PURPOSE_RING
	                                                                  : INA_PURPOSE_AGGREGATE,
	        .rank = (uint32_t)fabric->rank,
	        .job_id = fabric->job_id,
	};
	struct rdma_conn_param parameters = connection_parameters(&data);
	enum ina_status status = make_qp(fabric, id, failure);

	if (status != INA_OK)
		return status;
	if (rdma_connect(id, &parameters) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "rank %d cannot be connected to: %s",
		                ina_successor(fabric->rank, fabric->ranks), strerror(errno));
	return INA_OK;
}

/* A connection request: our predecessor's is accepted, an unknown peer's rejected and forgotten. */
static enum ina_status answer_request(struct ina_fabric *fabric, struct rdma_cm_event *event,
                                      struct ina_failure *failure)
{
	struct rdma_cm_id *id = event->id;
	struct private_data data = {0};
	struct rdma_conn_param parameters = connection_parameters(NULL);
	int predecessor = ina_predecessor(fabric->rank, fabric->ranks);
	enum ina_status status;

	if (event->param.conn.private_data && event->param.conn.private_data_len >= sizeof(data))
		memcpy(&data, event->param.conn.private_data, sizeof(data));
	if (data.magic != PRIVATE_MAGIC || data.job_id != fabric->job_id ||
	    data.rank != (uint32_t)predecessor || data.purpose >= INA_PURPOSE_COUNT ||
	    fabric->connections[data.purpose].rx) {
		fabric->unknown_peers++;
		rdma_reject(id, NULL, 0);
		rdma_ack_cm_event(event);
		rdma_destroy_id(id);
		return INA_OK;
	}
	rdma_ack_cm_event(event);
	fabric->connections[data.purpose].rx = id;
	status = make_qp(fabric, id, failure);
	if (status != INA_OK)
		return status;
	if (rdma_accept(id, &parameters) != 0)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "the connection of rank %d cannot be accepted: %s", predecessor,
		                strerror(errno));
	return INA_OK;
}

/* Whose end of a connection this is; NULL: of one that is no more. */
static bool *readiness_of(struct ina_fabric *fabric, const struct rdma_cm_id *id)
{
	for (int p = 0; p < INA_PURPOSE_COUNT; p++) {
		if (fabric->connections[p].tx == id)
			return &fabric->connections[p].tx_ready;
		if (fabric->connections[p].rx == id)
			return &fabric->connections[p].rx_ready;
	}
	return NULL;
}

/* Takes one event that concerns a connection which is being made, and does what comes next. */
static enum ina_status go_on_connecting(struct ina_fabric *fabric, struct rdma_cm_id *id,
                                        enum rdma_cm_event_type type, int status,
                                        struct ina_failure *failure)
{
	int successor = ina_successor(fabric->rank, fabric->ranks);

	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(id, RESOLVE_TIMEOUT_MS) != 0)
			return ina_fail(failure, INA_ERR_DEVICE, "no route to rank %d: %s",
			                successor, strerror(errno));
		return INA_OK;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return request_connection(fabric, id, failure);
	case RDMA_CM_EVENT_ESTABLISHED:
		*readiness_of(fabric, id) = true;
		return INA_OK;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
		return ina_fail(failure, INA_ERR_DEVICE,
		                "connecting to rank %d or from rank %d: %s (%d)", successor,
		                ina_predecessor(fabric->rank, fabric->ranks), rdma_event_str(type),
		                status);
	default:
		return INA_OK;
	}
}

static enum ina_status fail_gone(const struct ina_fabric *fabric, struct ina_failure *failure)
{
	return ina_fail(failure, INA_ERR_DEVICE, "the RDMA device %s has failed or is gone",
	                fabric->device);
}

/* Acknowledges an event, and does what it asks for. */
static enum ina_status take_event(struct ina_fabric *fabric, struct rdma_cm_event *event,
                                  struct ina_failure *failure)
{
	struct rdma_cm_id *id = event->id;
	enum rdma_cm_event_type type = event->event;
	int status = event->status;
	const bool *ready = readiness_of(fabric, id);
	struct ina_failure own = {INA_OK, ""};

	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		answer_request(fabric, event, &own);
	else
		rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		return fail_gone(fabric, failure);
	/* The end of one that was made is told by its completions, and over the control channel. */
	if (type != RDMA_CM_EVENT_CONNECT_REQUEST && ready && !*ready)
		go_on_connecting(fabric, id, type, status, &own);
	if (own.status != INA_OK && fabric->attempt.status == INA_OK)
		fabric->attempt = own;
	return INA_OK;
}

/* What stands out, for a text: "the aggregation connection from rank 2". */
static const char *missing_connection(const struct ina_fabric *fabric, char *text, size_t size)
{
	for (enum ina_purpose p = 0; p < INA_PURPOSE_COUNT; p++) {
		if (!fabric->connections[p].tx_ready) {
			snprintf(text, size, "the %s connection to rank %d", purpose_name(p),
			         ina_successor(fabric->rank, fabric->ranks));
			return text;
		}
		if (!fabric->connections[p].rx_ready) {
			snprintf(text, size, "the %s connection from rank %d", purpose_name(p),
			         ina_predecessor(fabric->rank, fabric->ranks));
			return text;
		}
	}
	return NULL;
}

/* What the connection manager leaves at values that do not suit us; and the path MTU. */
static enum ina_status tune(struct ina_fabric *fabric, struct ina_failure *failure)
{
	for (int p = 0; p < INA_PURPOSE_COUNT; p++) {
		struct ibv_qp *qps[2] = {fabric->connections[p].tx->qp,
		                         fabric->connections[p].rx->qp};
		struct ibv_qp_attr rnr = {.qp_state = IBV_QPS_RTS, .min_rnr_timer = MIN_RNR_TIMER};

		for (int i = 0; i < 2; i++) {
			int error =
			        ibv_modify_qp(qps[i], &rnr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER);

			if (error != 0)
				return ina_fail(failure, INA_ERR_DEVICE, "%s: RNR timer: %s",
				                fabric->device, strerror(error));
		}
	}
	struct ibv_qp_attr attributes = {0};
	struct ibv_qp_init_attr init = {0};
	struct rdma_cm_id *id = fabric->connections[INA_PURPOSE_AGGREGATE].tx;
	int error = ibv_query_qp(id->qp, &attributes, IBV_QP_PATH_MTU | IBV_QP_AV, &init);

	if (error != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "%s: path MTU: %s", fabric->device,
		                strerror(error));
	fabric->path_mtu = 128u << attributes.path_mtu; /* IBV_MTU_256 is 1 */
	fabric->gid_index = attributes.ah_attr.grh.sgid_index;
	/* Only told, never used: a device that does not say is none the worse. */
	if (ibv_query_gid(id->verbs, id->port_num, fabric->gid_index, &fabric->gid) != 0)
		memset(&fabric->gid, 0, sizeof(fabric->gid));
	return INA_OK;
}

static enum ina_status take_manager_events(struct ina_fabric *fabric, struct ina_failure *failure)
{
	struct rdma_cm_event *event;

	while (rdma_get_cm_event(fabric->events, &event) == 0) {
		enum ina_status status = take_event(fabric, event, failure);

		if (status != INA_OK)
			return status;
	}
	if (errno != EAGAIN && errno != EINTR)
		return ina_fail(failure, INA_ERR_DEVICE, "RDMA events: %s", strerror(errno));
	return INA_OK;
}

/*
 * What befalls queue pairs and ports, completions tell. Communicators of one process share these
 * events, and the first to look has them.
 */
static enum ina_status take_device_events(struct ina_fabric *fabric, struct ina_failure *failure)
{
	struct ibv_async_event event;

	while (ibv_get_async_event(fabric->listener->verbs, &event) == 0) {
		bool fatal =
		        event.event_type == IBV_EVENT_DEVICE_FATAL ||
		        (event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == fabric->cq);

		ibv_ack_async_event(&event);
		if (fatal)
			return fail_gone(fabric, failure);
	}
	return INA_OK;
}

int ina_fabric_pollfds(const struct ina_fabric *fabric, struct pollfd *fds)
{
	fds[0] = (struct pollfd){.fd = fabric->channel->fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = fabric->listener->verbs->async_fd, .events = POLLIN};
	fds[2] = (struct pollfd){.fd = fabric->events->fd, .events = POLLIN};
	return INA_FABRIC_FDS;
}

enum ina_status ina_fabric_attend(struct ina_fabric *fabric, struct ina_failure *failure)
{
	struct pollfd fds[INA_FABRIC_FDS];
	enum ina_status status = INA_OK;

	if (poll(fds, (nfds_t)ina_fabric_pollfds(fabric, fds), 0) <= 0)
		return INA_OK;
	/* The kernel has closed what it has of the device. */
	for (int i = 0; i < INA_FABRIC_FDS; i++) {
		if (fds[i].revents & (POLLERR | POLLHUP | POLLNVAL))
			return fail_gone(fabric, failure);
	}
	if (fds[1].revents)
		status = take_device_events(fabric, failure);
	if (status == INA_OK && fds[2].revents)
		status = take_manager_events(fabric, failure);
	return status;
}

enum ina_status ina_fabric_step(struct ina_fabric *fabric, bool *ready, struct ina_failure *failure)
{
	char missing[80];
	enum ina_status status = ina_fabric_attend(fabric, failure);

	if (status == INA_OK && fabric->attempt.status != INA_OK) {
		*failure = fabric->attempt;
		status = failure->status;
	}
	*ready = status == INA_OK && !missing_connection(fabric, missing, sizeof(missing));
	return *ready ? tune(fabric, failure) : status;
}

enum ina_status ina_fabric_connect(struct ina_fabric *fabric, struct ina_control *control,
                                   const struct ina_roster *roster, int64_t deadline_ms,
                                   struct ina_failure *failure)
{
	char missing[80];

	fabric->job_id = roster->job_id;
	fabric->next = roster->endpoints[ina_successor(fabric->rank, fabric->ranks)];
	fabric->previous = roster->endpoints[ina_predecessor(fabric->rank, fabric->ranks)];
	for (int p = 0; p < INA_PURPOSE_COUNT; p++) {
		enum ina_status status = ina_fabric_begin(fabric, (enum ina_purpose)p, failure);

		if (status != INA_OK)
			return status;
	}
	for (;;) {
		struct pollfd fds[INA_MAX_RANKS + INA_FABRIC_FDS];
		bool ready;
		int count;
		enum ina_status status = ina_fabric_step(fabric, &ready, failure);

		if (status != INA_OK || ready)
			return status;
		if (ina_open_failed_elsewhere(control, failure))
			return failure->status;
		if (ina_now_ms() >= deadline_ms)
			return ina_fail(failure, INA_ERR_TIMEOUT, "%s was not made in time",
			                missing_connection(fabric, missing, sizeof(missing)));
		count = ina_control_pollfds(control, fds);
		count += ina_fabric_pollfds(fabric, fds + count);
		poll(fds, (nfds_t)count, ina_left_ms(deadline_ms, TICK_MS));
	}
}

static void stop_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};

	if (id && id->qp)
		ibv_modify_qp(id->qp, &attributes, IBV_QP_STATE);
}

void ina_fabric_silence(struct ina_fabric *fabric)
{
	for (int p = 0; p < INA_PURPOSE_COUNT; p++) {
		stop_qp(fabric->connections[p].tx);
		stop_qp(fabric->connections[p].rx);
	}
}

static void destroy_id(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

void ina_fabric_drop(struct ina_fabric *fabric, enum ina_purpose purpose)
{
	struct ina_connection *connection = &fabric->connections[purpose];

	if (connection->tx_ready)
		rdma_disconnect(connection->tx);
	if (connection->rx_ready)
		rdma_disconnect(connection->rx);
	destroy_id(connection->tx);
	destroy_id(connection->rx);
	*connection = (struct ina_connection){0};
}

void ina_fabric_disconnect(struct ina_fabric *fabric)
{
	for (int p = 0; p < INA_PURPOSE_COUNT; p++)
		ina_fabric_drop(fabric, (enum ina_purpose)p);
}

void ina_fabric_close(struct ina_fabric *fabric)
{
	ina_fabric_disconnect(fabric);
	if (fabric->cq) {
		if (fabric->unacknowledged_events > 0)
			ibv_ack_cq_events(fabric->cq, fabric->unacknowledged_events);
		ibv_destroy_cq(fabric->cq);
	}
	if (fabric->channel)
		ibv_destroy_comp_channel(fabric->channel);
	if (fabric->pd)
		ibv_dealloc_pd(fabric->pd);
	if (fabric->listener)
		rdma_destroy_id(fabric->listener);
	if (fabric->events)
		rdma_destroy_event_channel(fabric->events);
}
