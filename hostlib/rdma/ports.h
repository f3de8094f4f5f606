/* SPDX-License-Identifier: Apache-2.0 */
/* The ports of all RDMA devices of this host, with their addresses. */
#ifndef INA_RDMA_PORTS_H
#define INA_RDMA_PORTS_H

#include <infiniband/verbs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/* A GID that stands for an IPv4 address: ::ffff:a.b.c.d. */
struct ina_gid {
	uint32_t address; /* network byte order */
	uint32_t mask;    /* of the address's subnet; 0: no interface has the address */
	uint32_t index;
	uint32_t type; /* enum ibv_gid_type */
	char netdev[IF_NAMESIZE];
};

struct ina_port {
	char device[IBV_SYSFS_NAME_MAX];
	unsigned int number; /* 0: the device cannot be opened, for the reason open_errno */
	int open_errno;
	enum ibv_transport_type transport;
	uint8_t link_layer; /* IBV_LINK_LAYER_* */
	enum ibv_port_state state;
	/* The process may run on a processor of the device's NUMA node, or the node is unknown. */
	bool is_near;
	struct ina_gid *gids;
	int gid_count;
};

struct ina_ports {
	struct ina_port *list; /* by device, as libibverbs lists them, and then by number */
	int count;
};

/*
 * Reads the ports. Returns false if memory runs out. ina_ports_free() is needed in any case. Where
 * a device does not answer a question, the answer is 0.
 */
bool ina_ports_read(struct ina_ports *ports);
void ina_ports_free(struct ina_ports *ports);

/* The address from which this host would connect to rank 0, or 0. Sends no packet. */
uint32_t ina_route_address(const struct sockaddr_in *root);

/* The MTU of the network interface that has this address, or 0. */
uint32_t ina_interface_mtu(uint32_t address);

#endif
