/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes the objects that all connections of a device share. */
#include "fabric.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static enum ina_status make_queues(struct ina_fabric *fabric, struct ina_failure *failure)
{
	struct ibv_context *context = fabric->listener->verbs;
	/*
	 * Two sends and two receives for each message of each purpose, and some for credits and
	 * partners.
	 */
	int entries = (int)(12 * fabric->window + fabric->receives + 64) + 16 * INA_PARTNERS_MAX;

	fabric->pd = ibv_alloc_pd(context);
	fabric->channel = ibv_create_comp_channel(context);
	if (!fabric->pd || !fabric->channel)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "%s: cannot create a protection domain or completion channel: %s",
		                fabric->device, strerror(errno));
	fabric->cq = ibv_create_cq(context, entries, NULL, fabric->channel, 0);
	if (!fabric->cq)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "%s: cannot create a completion queue of %d entries: %s",
		                fabric->device, entries, strerror(errno));
	if (set_nonblocking(fabric->channel->fd) != 0 || set_nonblocking(context->async_fd) != 0)
		return ina_fail(failure, INA_ERR_SYSTEM,
		                "%s: cannot make the event channels non-blocking: %s",
		                fabric->device, strerror(errno));
	return INA_OK;
}

static enum ina_status open_events(struct ina_fabric *fabric, struct ina_failure *failure)
{
	fabric->events = rdma_create_event_channel();
	if (fabric->events && set_nonblocking(fabric->events->fd) == 0)
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
	const char *from = settings->bind.sin_addr.s_addr != 0
	                           ? "which INA_BIND or the option bind gives"
	                   : settings->device[0] ? "of the requested device"
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

enum ina_status ina_fabric_open(struct ina_fabric *fabric, const struct ina_settings *settings,
                                struct ina_failure *failure)
{
	struct sockaddr_in address;
	char host[INET_ADDRSTRLEN];
	enum ina_status status;

	memset(fabric, 0, sizeof(*fabric));
	fabric->rank = settings->options.rank;
	fabric->ranks = settings->options.ranks;
	fabric->window = ina_window_most(settings->options.window);
	fabric->receives = settings->receives;
	fabric->ack_timeout = (uint8_t)settings->options.ack_timeout;
	fabric->tree = settings->tree;
	status = ina_device_find(settings, &address, failure);
	if (status != INA_OK)
		return status;
	inet_ntop(AF_INET, &address.sin_addr, host, sizeof(host));

	if (open_events(fabric, failure) != INA_OK)
		return failure->status;
	if (rdma_create_id(fabric->events, &fabric->listener, NULL, RDMA_PS_TCP) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "cannot create an RDMA id: %s",
		                strerror(errno));
	if (rdma_bind_addr(fabric->listener, (struct sockaddr *)&address) != 0)
		return refuse_address(settings, host, failure);
	errno = ENODEV;
	if (!fabric->listener->verbs)
		return refuse_address(settings, host, failure);
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

int ina_fabric_pollfds(const struct ina_fabric *fabric, struct pollfd *fds)
{
	fds[0] = (struct pollfd){.fd = fabric->channel->fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = fabric->listener->verbs->async_fd, .events = POLLIN};
	fds[2] = (struct pollfd){.fd = fabric->events->fd, .events = POLLIN};
	return INA_FABRIC_FDS;
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
	for (int i = 0; i < fabric->partner_count; i++)
		stop_qp(fabric->partners[i].id);
}

static void destroy_id(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

bool ina_fabric_is_up(const struct ina_fabric *fabric)
{
	const struct rdma_cm_id *listener = fabric->listener;
	struct ibv_port_attr port;

	return ibv_query_port(listener->verbs, listener->port_num, &port) != 0 ||
	       port.state != IBV_PORT_DOWN;
}

static void end_kept(struct ina_fabric *fabric)
{
	for (int i = 0; i < fabric->kept_count; i++)
		destroy_id(fabric->kept[i]);
	fabric->kept_count = 0;
}

static void keep(struct ina_fabric *fabric, struct rdma_cm_id *id)
{
	stop_qp(id);
	if (id)
		fabric->kept[fabric->kept_count++] = id;
}

static void drop(struct ina_fabric *fabric, struct ina_connection *connection)
{
	bool was_made = connection->tx || connection->rx;

	if (connection->labelled)
		connection->tx->qp = connection->labelled;
	if (!was_made && fabric->kept_count == 0)
		return; /* there may be no device */
	if (ina_fabric_is_up(fabric)) {
		end_kept(fabric);
		if (connection->tx_ready)
			rdma_disconnect(connection->tx);
		if (connection->rx_ready)
			rdma_disconnect(connection->rx);
	} else if (fabric->kept_count == 0) {
		keep(fabric, connection->tx);
		keep(fabric, connection->rx);
		return;
	}
	destroy_id(connection->tx);
	destroy_id(connection->rx);
}

void ina_fabric_drop(struct ina_fabric *fabric, enum ina_purpose purpose)
{
	drop(fabric, &fabric->connections[purpose]);
	fabric->connections[purpose] = (struct ina_connection){0};
}

void ina_fabric_disconnect(struct ina_fabric *fabric)
{
	for (int p = 0; p < INA_PURPOSE_COUNT; p++)
		ina_fabric_drop(fabric, (enum ina_purpose)p);
	for (int i = 0; i < fabric->partner_count; i++) {
		if (fabric->partners[i].ready)
			rdma_disconnect(fabric->partners[i].id);
		destroy_id(fabric->partners[i].id);
	}
	fabric->partner_count = 0;
	end_kept(fabric);
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
	free(fabric->endpoints);
}
