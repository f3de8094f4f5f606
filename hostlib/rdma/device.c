/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the device to use, and its address. */
#include "device.h"

#include <string.h>

#include "choice.h"
#include "hostlib/options/address.h"

/* GRH, UDP, BTH, XRCETH, AtomicETH and iCRC: Linux' iboe_get_mtu(). */
#define HEADERS_BYTES (40 + 8 + 12 + 4 + 28 + 4)

bool ina_device_is_any(void)
{
	int count = 0;
	struct ibv_device **devices = ibv_get_device_list(&count);

	if (devices)
		ibv_free_device_list(devices);
	return count > 0;
}

uint32_t ina_device_address(const char *list)
{
	const struct ina_wish wish = {.list = list};
	struct ina_choice choice;
	struct ina_ports ports;
	uint32_t address = 0;

	if (ina_ports_read(&ports) && ina_choose(&ports, &wish, &choice))
		address = choice.gid->address;
	ina_ports_free(&ports);
	return address;
}

bool ina_device_has(uint32_t address)
{
	struct ina_ports ports;
	bool has = false;

	ina_ports_read(&ports);
	for (int p = 0; p < ports.count; p++) {
		const struct ina_port *port = &ports.list[p];

		for (int g = 0; g < port->gid_count; g++)
			has |= ina_gid_fits(&port->gids[g]) && port->gids[g].address == address;
	}
	ina_ports_free(&ports);
	return has;
}

static enum ina_status no_choice(const struct ina_ports *ports, const char *list,
                                 struct ina_failure *failure)
{
	char text[300];

	if (ports->count == 0)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "this host has no RDMA device, and so none of the list \"%s\" of "
		                "INA_HCA or the option device: see `rdma link`",
		                list);
	if (ina_list_matches(ports, list)) {
		ina_ports_explain(ports, list, text, sizeof(text));
		return ina_fail(failure, INA_ERR_DEVICE,
		                "no RDMA device of this host can be used: %s; see `rdma link` and "
		                "`ina-perf --doctor`",
		                text);
	}
	ina_ports_explain(ports, "", text, sizeof(text));
	return ina_fail(
	        failure, INA_ERR_DEVICE,
	        "no RDMA device of this host is in the list \"%s\" of INA_HCA or the option "
	        "device; its devices: %s",
	        list, text);
}

/* Chooses among the ports; without any port, the address stays that of the route to rank 0. */
static enum ina_status choose(const struct ina_settings *settings, const struct ina_ports *ports,
                              struct in_addr *address, struct ina_failure *failure)
{
	const struct in_addr root = settings->root.sin_addr;
	const struct ina_wish wish = {.list = settings->device,
	                              .bind = settings->bind.sin_addr.s_addr,
	                              .route = address->s_addr,
	                              .root = ina_is_loopback(root) ? 0 : root.s_addr,
	                              .strand = settings->strand};
	struct ina_choice choice;

	if (ina_choose(ports, &wish, &choice))
		address->s_addr = choice.gid->address;
	else if (wish.bind != 0 && ina_list_matches(ports, wish.list))
		*address = settings->bind.sin_addr;
	else if (ports->count > 0 || wish.list[0])
		return no_choice(ports, wish.list, failure);
	return INA_OK;
}

enum ina_status ina_device_find(const struct ina_settings *settings, struct sockaddr_in *address,
                                struct ina_failure *failure)
{
	enum ina_status status;
	struct ina_ports ports;

	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = settings->bind.sin_addr};
	if (address->sin_addr.s_addr != 0 && !settings->device[0])
		return INA_OK;
	address->sin_addr.s_addr = ina_route_address(&settings->root);
	if (address->sin_addr.s_addr == 0 && !settings->device[0])
		return ina_fail(failure, INA_ERR_SYSTEM,
		                "this host has no route to rank 0; is the network up?");
	status = ina_ports_read(&ports)
	                 ? choose(settings, &ports, &address->sin_addr, failure)
	                 : ina_fail(failure, INA_ERR_MEMORY, "no memory for a table of devices");
	ina_ports_free(&ports);
	return status;
}

enum ina_status ina_device_check(const char *device, enum ibv_transport_type transport,
                                 uint8_t link_layer, struct ina_failure *failure)
{
	if (transport == IBV_TRANSPORT_IWARP)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "%s is an iWARP device: libina needs RoCE v2; INA_HCA or INA_BIND "
		                "selects another device",
		                device);
	if (link_layer == IBV_LINK_LAYER_INFINIBAND)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "%s is an InfiniBand port: libina needs Ethernet, with RoCE "
		                "v2; INA_HCA or INA_BIND selects another device",
		                device);
	return INA_OK;
}

enum ina_status ina_device_check_limits(const char *device, const struct ibv_device_attr *limits,
                                        const struct ibv_qp_cap *room, int entries, int queue_pairs,
                                        struct ina_failure *failure)
{
	static const char window[] = "make the option window smaller, on all ranks";
	static const char other[] = "INA_HCA or INA_BIND selects another device";
	const struct {
		const char *what, *name;
		int needed, limit;
		const char *remedy;
	} rows[] = {
	        {"sends on a connection", "max_qp_wr", (int)room->max_send_wr, limits->max_qp_wr,
	         window},
	        {"receives on a connection", "max_qp_wr", (int)room->max_recv_wr, limits->max_qp_wr,
	         window},
	        {"entries of a completion queue", "max_cqe", entries, limits->max_cqe, window},
	        {"entries of a message", "max_sge", (int)room->max_send_sge, limits->max_sge,
	         other},
	        {"queue pairs", "max_qp", queue_pairs, limits->max_qp, other},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].needed > rows[i].limit)
			return ina_fail(failure, INA_ERR_DEVICE,
			                "%s is too small: a rank needs up to %d %s, and the "
			                "device's %s is %d; %s",
			                device, rows[i].needed, rows[i].what, rows[i].name,
			                rows[i].limit, rows[i].remedy);
	}
	return INA_OK;
}

uint16_t ina_device_mtu(enum ibv_mtu active_mtu, uint32_t interface_mtu)
{
	uint16_t port_mtu = (uint16_t)((128u << active_mtu) + HEADERS_BYTES);
	uint16_t mtu = interface_mtu > UINT16_MAX ? UINT16_MAX : (uint16_t)interface_mtu;

	return mtu == 0 || ina_path_mtu(port_mtu) < ina_path_mtu(mtu) ? port_mtu : mtu;
}

unsigned int ina_path_mtu(uint16_t mtu)
{
	unsigned int path_mtu = 4096;

	while (path_mtu > 256 && path_mtu + HEADERS_BYTES > mtu)
		path_mtu /= 2;
	return path_mtu;
}

enum ina_status ina_device_check_gid(const char *device, unsigned int port, uint32_t type,
                                     struct ina_failure *failure)
{
	if (type != IBV_GID_TYPE_ROCE_V1)
		return INA_OK;
	return ina_fail(failure, INA_ERR_DEVICE,
	                "the RDMA connection manager uses RoCE v1 at port %u of %s, and libina "
	                "needs RoCE v2: as root, run `cma_roce_mode -d %s -p %u -m 2`, or create "
	                "the folder /sys/kernel/config/rdma_cm/%s and write \"RoCE v2\" to "
	                "ports/%u/default_roce_mode in it",
	                port, device, device, port, device, port);
}

enum ina_status ina_device_gone(const char *device, struct ina_failure *failure)
{
	return ina_fail(failure, INA_ERR_DEVICE, "the RDMA device %s has failed or was removed",
	                device);
}

bool ina_device_has_failed(struct ibv_context *context, const struct ibv_cq *cq)
{
	struct ibv_async_event event;

	while (ibv_get_async_event(context, &event) == 0) {
		bool fatal = event.event_type == IBV_EVENT_DEVICE_FATAL ||
		             (event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == cq);

		ibv_ack_async_event(&event);
		if (fatal)
			return true;
	}
	return false;
}
