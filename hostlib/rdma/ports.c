/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the ports of this host's RDMA devices. */
#include "ports.h"

#include <errno.h>
#include <ifaddrs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

static const struct ifaddrs *find_interface(const struct ifaddrs *interfaces, uint32_t address)
{
	for (const struct ifaddrs *i = interfaces; i; i = i->ifa_next) {
		const struct sockaddr_in *own = (const void *)i->ifa_addr;

		if (own && own->sin_family == AF_INET && own->sin_addr.s_addr == address)
			return i;
	}
	return NULL;
}

static uint32_t find_mask(const struct ifaddrs *interfaces, uint32_t address)
{
	const struct ifaddrs *found = find_interface(interfaces, address);
	const struct sockaddr_in *mask = found ? (const void *)found->ifa_netmask : NULL;

	return mask ? mask->sin_addr.s_addr : 0;
}

uint32_t ina_interface_mtu(uint32_t address)
{
	struct ifaddrs *interfaces;
	struct ifreq request = {0};
	uint32_t mtu = 0;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && getifaddrs(&interfaces) == 0) {
		const struct ifaddrs *found = find_interface(interfaces, address);

		if (found)
			snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", found->ifa_name);
		if (found && ioctl(fd, SIOCGIFMTU, &request) == 0)
			mtu = (uint32_t)request.ifr_mtu;
		freeifaddrs(interfaces);
	}
	if (fd >= 0)
		close(fd);
	return mtu;
}

uint32_t ina_route_address(const struct sockaddr_in *root)
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

/* May this process run on a processor of the device's NUMA node? */
static bool is_near(const struct ibv_device *device)
{
	char path[IBV_SYSFS_PATH_MAX + 32];
	cpu_set_t processors;
	int node = -1;
	FILE *file;

	snprintf(path, sizeof(path), "%s/device/numa_node", device->ibdev_path);
	file = fopen(path, "re");
	if (!file)
		return true;
	if (fscanf(file, "%d", &node) != 1)
		node = -1;
	fclose(file);
	if (node < 0 || sched_getaffinity(0, sizeof(processors), &processors) != 0)
		return true;
	for (int i = 0; i < CPU_SETSIZE; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/node%d", i, node);
		if (CPU_ISSET(i, &processors) && access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/* Reads the GIDs of all ports of a device, and returns their number. */
static int read_gids(struct ibv_context *context, uint8_t ports, struct ibv_gid_entry **entries)
{
	struct ibv_port_attr port;
	size_t room = 0;
	ssize_t count;

	for (uint8_t p = 1; p <= ports; p++) {
		if (ibv_query_port(context, p, &port) == 0)
			room += (size_t)port.gid_tbl_len;
	}
	*entries = calloc(room + 1, sizeof(**entries));
	if (!*entries)
		return -1;
	count = ibv_query_gid_table(context, *entries, room, 0);
	return count > 0 ? (int)count : 0;
}

static bool take_gids(struct ina_port *port, const struct ibv_gid_entry *entries, int count,
                      const struct ifaddrs *interfaces)
{
	port->gids = calloc((size_t)count + 1, sizeof(*port->gids));
	if (!port->gids)
		return false;
	for (int i = 0; i < count; i++) {
		struct ina_gid *gid = &port->gids[port->gid_count];

		if (entries[i].port_num != port->number || gid_address(&entries[i].gid) == 0)
			continue;
		gid->address = gid_address(&entries[i].gid);
		gid->mask = find_mask(interfaces, gid->address);
		gid->index = entries[i].gid_index;
		gid->type = entries[i].gid_type;
		if (!if_indextoname(entries[i].ndev_ifindex, gid->netdev))
			strcpy(gid->netdev, "?");
		port->gid_count++;
	}
	return true;
}

static struct ina_port *add(struct ina_ports *ports, struct ibv_device *device, unsigned int number)
{
	size_t bytes = ((size_t)ports->count + 1) * sizeof(*ports->list);
	struct ina_port *list = realloc(ports->list, bytes);
	struct ina_port *port;

	if (!list)
		return NULL;
	ports->list = list;
	port = &list[ports->count++];
	*port = (struct ina_port){.number = number, .transport = device->transport_type};
	snprintf(port->device, sizeof(port->device), "%s", ibv_get_device_name(device));
	return port;
}

static bool add_ports(struct ina_ports *ports, struct ibv_context *context,
                      const struct ifaddrs *interfaces)
{
	struct ibv_device_attr device = {0};
	struct ibv_gid_entry *entries;
	bool near = is_near(context->device);
	bool fine;
	int count;

	ibv_query_device(context, &device);
	count = read_gids(context, device.phys_port_cnt, &entries);
	fine = count >= 0;
	for (uint8_t p = 1; fine && p <= device.phys_port_cnt; p++) {
		struct ina_port *port = add(ports, context->device, p);
		struct ibv_port_attr attributes = {0};

		fine = port && take_gids(port, entries, count, interfaces);
		if (!fine || ibv_query_port(context, p, &attributes) != 0)
			continue;
		port->link_layer = attributes.link_layer;
		port->state = attributes.state;
		port->is_near = near;
	}
	free(entries);
	return fine;
}

bool ina_ports_read(struct ina_ports *ports)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ifaddrs *interfaces = NULL;
	bool fine = true;

	*ports = (struct ina_ports){NULL, 0};
	if (devices && getifaddrs(&interfaces) != 0)
		interfaces = NULL;
	for (int i = 0; fine && devices && devices[i]; i++) {
		struct ibv_context *context = ibv_open_device(devices[i]);
		int error = errno;

		if (context) {
			fine = add_ports(ports, context, interfaces);
			ibv_close_device(context);
		} else {
			struct ina_port *port = add(ports, devices[i], 0);

			fine = port != NULL;
			if (port)
				port->open_errno = error;
		}
	}
	if (interfaces)
		freeifaddrs(interfaces);
	if (devices)
		ibv_free_device_list(devices);
	return fine;
}

void ina_ports_free(struct ina_ports *ports)
{
	for (int i = 0; i < ports->count; i++)
		free(ports->list[i].gids);
	free(ports->list);
	*ports = (struct ina_ports){NULL, 0};
}
