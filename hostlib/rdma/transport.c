/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes the objects that all connections of a device share. */
#include "transport.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "hostlib/options/device_list.h"
#include "ports.h"
#include "wire/ina_wire.h"

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

/* Entries of a message: the header, the elements, and the padding with the trailer. */
#define SGE_COUNT 3

struct ibv_qp_cap ina_transport_room(const struct ina_transport *transport)
{
	/*
	 * The ring needs receives for two windows of messages, and for one credit more than a
	 * window.
	 */
	unsigned int receives = transport->receives > 2 * transport->window ? transport->receives
	                                                                    : 2 * transport->window;

	/* Room for messages or credits, a JOIN and a LEAVE, in either direction. */
	return (struct ibv_qp_cap){.max_send_wr = transport->window + 8,
	                           .max_recv_wr = receives + 8,
	                           .max_send_sge = SGE_COUNT,
	                           .max_recv_sge = SGE_COUNT};
}

/*
 * The completion queue has room for two sends and two receives for each message of each purpose,
 * and some for credits and partners.
 */
static int count_entries(const struct ina_transport *transport)
{
	return (int)(12 * transport->window + transport->receives + 64) + 16 * INA_PARTNERS_MAX;
}

static enum ina_status make_queues(struct ina_transport *transport, struct ina_failure *failure)
{
	struct ibv_context *context = transport->listener->verbs;
	int entries = count_entries(transport);

	transport->pd = ibv_alloc_pd(context);
	transport->channel = ibv_create_comp_channel(context);
	if (!transport->pd || !transport->channel)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "%s: cannot create a protection domain or completion channel: %s",
		                transport->device, strerror(errno));
	transport->cq = ibv_create_cq(context, entries, NULL, transport->channel, 0);
	if (!transport->cq)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "%s: cannot create a completion queue of %d entries: %s",
		                transport->device, entries, strerror(errno));
	if (set_nonblocking(transport->channel->fd) != 0 || set_nonblocking(context->async_fd) != 0)
		return ina_fail(failure, INA_ERR_SYSTEM,
		                "%s: cannot make the event channels non-blocking: %s",
		                transport->device, strerror(errno));
	return INA_OK;
}

static enum ina_status open_events(struct ina_transport *transport, struct ina_failure *failure)
{
	transport->events = rdma_create_event_channel();
	if (transport->events && set_nonblocking(transport->events->fd) == 0)
		return INA_OK;
	if (errno == EMFILE || errno == ENFILE)
		return ina_fail(
		        failure, INA_ERR_SYSTEM,
		        "no file descriptor is left for the RDMA connection manager: %s; see "
		        "`ulimit -n`",
		        strerror(errno));
	if (!ina_device_is_any())
		return ina_fail(failure, INA_ERR_DEVICE,
		                "this host has no RDMA device: see `rdma link`");
	return ina_fail(failure, INA_ERR_DEVICE,
	                "the RDMA connection manager cannot be used: %s; is the module rdma_ucm "
	                "loaded, and does /dev/infiniband/rdma_cm exist?",
	                strerror(errno));
}

/*
 * Explains why RDMA does not accept the address: errno is the reason; ENODEV means that no device
 * has it.
 */
static enum ina_status refuse_address(const struct ina_settings *settings, const char *host,
                                      struct ina_failure *failure)
{
	const char *from =
	        settings->bind.sin_addr.s_addr != 0 ? "which INA_BIND or the option bind gives"
	        : settings->device[0] ? "of the device that INA_HCA or the option device gives"
	                              : "from which this host reaches rank 0";

	if (errno == EADDRNOTAVAIL)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "this host has no address %s, %s: see `rdma link`, and set "
		                "INA_BIND to the address of this host's RDMA device",
		                host, from);
	if (errno == ENODEV)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "no RDMA device has the address %s, %s: see `rdma link`, and set "
		                "INA_BIND to the address of this host's RDMA device",
		                host, from);
	return ina_fail(failure, INA_ERR_DEVICE, "RDMA cannot use the address %s, %s: %s", host,
	                from, strerror(errno));
}

/* Checks the device, and finds out the largest packets that it can send and receive. */
static enum ina_status check_device(struct ina_transport *transport,
                                    const struct ina_settings *settings, const char *host,
                                    struct ina_failure *failure)
{
	struct ibv_context *context = transport->listener->verbs;
	const uint8_t number = transport->listener->port_num;
	const struct ibv_qp_cap room = ina_transport_room(transport);
	struct ibv_port_attr port = {0};
	struct ibv_device_attr device;

	if (ina_device_list_place(settings->device, transport->device, number) < 0)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "the address %s belongs to port %u of %s, which is not in the list "
		                "\"%s\" of INA_HCA or the option device",
		                host, number, transport->device, settings->device);
	ibv_query_port(context, number, &port);
	transport->local.mtu =
	        ina_device_mtu(port.active_mtu, ina_interface_mtu(transport->local.address));
	if (ina_device_check(transport->device, context->device->transport_type, port.link_layer,
	                     failure) != INA_OK)
		return failure->status;
	if (ibv_query_device(context, &device) != 0)
		return INA_OK;
	return ina_device_check_limits(transport->device, &device, &room, count_entries(transport),
	                               2 * INA_PURPOSE_COUNT + INA_PARTNERS_MAX, failure);
}

enum ina_status ina_transport_open(struct ina_transport *transport,
                                   const struct ina_settings *settings, struct ina_failure *failure)
{
	struct sockaddr_in address;
	char host[INET_ADDRSTRLEN];
	enum ina_status status;

	memset(transport, 0, sizeof(*transport));
	transport->rank = settings->options.rank;
	transport->ranks = settings->options.ranks;
	transport->window = ina_window_most(settings->options.window);
	transport->receives = settings->receives;
	transport->ack_timeout = (uint8_t)settings->options.ack_timeout;
	transport->retry_count = (uint8_t)settings->variables.retry_count;
	transport->aggregate_class = (uint8_t)(settings->variables.dscp << 2 | INA_WIRE_ECT);
	transport->other_class = (uint8_t)settings->variables.traffic_class;
	transport->tree = settings->tree;
	status = ina_device_find(settings, &address, failure);
	if (status != INA_OK)
		return status;
	inet_ntop(AF_INET, &address.sin_addr, host, sizeof(host));
	transport->local.address = address.sin_addr.s_addr;

	if (open_events(transport, failure) != INA_OK)
		return failure->status;
	if (rdma_create_id(transport->events, &transport->listener, NULL, RDMA_PS_TCP) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "cannot create an RDMA id: %s",
		                strerror(errno));
	if (rdma_bind_addr(transport->listener, (struct sockaddr *)&address) != 0)
		return refuse_address(settings, host, failure);
	errno = ENODEV;
	if (!transport->listener->verbs)
		return refuse_address(settings, host, failure);
	snprintf(transport->device, sizeof(transport->device), "%s",
	         ibv_get_device_name(transport->listener->verbs->device));
	if (check_device(transport, settings, host, failure) != INA_OK)
		return failure->status;
	if (rdma_listen(transport->listener, 16) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "RDMA cannot listen on %s: %s", host,
		                strerror(errno));
	transport->local.port = rdma_get_src_port(transport->listener);
	return make_queues(transport, failure);
}

int ina_transport_pollfds(const struct ina_transport *transport, struct pollfd *fds)
{
	fds[0] = (struct pollfd){.fd = transport->channel->fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = transport->listener->verbs->async_fd, .events = POLLIN};
	fds[2] = (struct pollfd){.fd = transport->events->fd, .events = POLLIN};
	return INA_TRANSPORT_FDS;
}

static void stop_qp(struct rdma_cm_id *id)
{
	if (id && id->qp)
		ina_queue_pair_stop(id->qp);
}

void ina_transport_silence(struct ina_transport *transport)
{
	for (int p = 0; p < INA_PURPOSE_COUNT; p++) {
		stop_qp(transport->connections[p].tx);
		stop_qp(transport->connections[p].rx);
	}
	for (int i = 0; i < transport->partner_count; i++)
		stop_qp(transport->partners[i].id);
}

static void destroy_id(struct ina_transport *transport, struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp) {
		ina_queue_pair_remove(&transport->pairs, id->qp);
		rdma_destroy_qp(id);
	}
	rdma_destroy_id(id);
}

bool ina_transport_is_up(const struct ina_transport *transport)
{
	const struct rdma_cm_id *listener = transport->listener;
	struct ibv_port_attr port;

	return ibv_query_port(listener->verbs, listener->port_num, &port) != 0 ||
	       port.state != IBV_PORT_DOWN;
}

static void end_kept(struct ina_transport *transport)
{
	for (int i = 0; i < transport->kept_count; i++)
		destroy_id(transport, transport->kept[i]);
	transport->kept_count = 0;
}

static void keep(struct ina_transport *transport, struct rdma_cm_id *id)
{
	stop_qp(id);
	if (id)
		transport->kept[transport->kept_count++] = id;
}

static void drop(struct ina_transport *transport, struct ina_connection *connection)
{
	bool was_made = connection->tx || connection->rx;

	if (connection->hidden)
		connection->tx->qp = connection->hidden;
	if (!was_made && transport->kept_count == 0)
		return; /* there may be no device */
	if (ina_transport_is_up(transport)) {
		end_kept(transport);
		if (connection->tx_ready)
			rdma_disconnect(connection->tx);
		if (connection->rx_ready)
			rdma_disconnect(connection->rx);
	} else if (transport->kept_count == 0) {
		keep(transport, connection->tx);
		keep(transport, connection->rx);
		return;
	}
	destroy_id(transport, connection->tx);
	destroy_id(transport, connection->rx);
}

void ina_transport_drop(struct ina_transport *transport, enum ina_purpose purpose)
{
	drop(transport, &transport->connections[purpose]);
	transport->connections[purpose] = (struct ina_connection){0};
}

void ina_transport_disconnect(struct ina_transport *transport)
{
	for (int p = 0; p < INA_PURPOSE_COUNT; p++)
		ina_transport_drop(transport, (enum ina_purpose)p);
	for (int i = 0; i < transport->partner_count; i++) {
		struct ina_partner *partner = &transport->partners[i];

		if (partner->hidden)
			partner->id->qp = partner->hidden;
		if (partner->ready)
			rdma_disconnect(partner->id);
		destroy_id(transport, partner->id);
	}
	transport->partner_count = 0;
	end_kept(transport);
}

void ina_transport_close(struct ina_transport *transport)
{
	ina_transport_disconnect(transport);
	if (transport->cq) {
		if (transport->unacknowledged_events > 0)
			ibv_ack_cq_events(transport->cq, transport->unacknowledged_events);
		ibv_destroy_cq(transport->cq);
	}
	if (transport->channel)
		ibv_destroy_comp_channel(transport->channel);
	if (transport->pd)
		ibv_dealloc_pd(transport->pd);
	if (transport->listener)
		rdma_destroy_id(transport->listener);
	if (transport->events)
		rdma_destroy_event_channel(transport->events);
	free(transport->endpoints);
}
