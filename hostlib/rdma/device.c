/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds devices by their addresses, and addresses by the GIDs of a device's first port: those of
 * RoCEv2 over IPv4.
 */
#include "device.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hostlib/options/address.h"

bool ina_device_is_any(void)
{
	int count = 0;
	struct ibv_device **devices = ibv_get_device_list(&count);

	if (devices)
		ibv_free_device_list(devices);
	return count > 0;
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

/*
 * Searches the devices with this name ("": all devices). Returns the first address that equals
 * `wanted` (0: any address), or 0.
 */
static uint32_t find_address(const char *name, uint32_t wanted)
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
				if (wanted != 0 && address != wanted)
					address = 0;
			}
		}
		ibv_close_device(context);
	}
	if (devices)
		ibv_free_device_list(devices);
	return address;
}

uint32_t ina_device_address(const char *name)
{
	return find_address(name, 0);
}

bool ina_device_has(uint32_t address)
{
	return address != 0 && find_address("", address) == address;
}

/* The address from which this host would connect to rank 0, or 0. Sends no packet. */
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

enum ina_status ina_device_find(const struct ina_settings *settings, struct sockaddr_in *address,
                                struct ina_failure *failure)
{
	address->sin_family = AF_INET;
	address->sin_port = 0;
	address->sin_addr = settings->bind.sin_addr;
	if (address->sin_addr.s_addr != 0)
		return INA_OK;
	if (settings->device[0]) {
		address->sin_addr.s_addr = ina_device_address(settings->device);
		if (address->sin_addr.s_addr == 0)
			return ina_fail(
			        failure, INA_ERR_DEVICE,
			        "no RDMA device %s with an IPv4 address was found: see `rdma link`",
			        settings->device);
		return INA_OK;
	}
	address->sin_addr.s_addr = route_address(&settings->root);
	if (address->sin_addr.s_addr == 0)
		return ina_fail(failure, INA_ERR_SYSTEM,
		                "this host has no route to rank 0; is the network up?");
	/* Rank 0 is on this host. Any device reaches it, but no device has a loopback address. */
	if (ina_is_loopback(address->sin_addr)) {
		uint32_t any = ina_device_address("");

		if (any != 0)
			address->sin_addr.s_addr = any;
	}
	return INA_OK;
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
