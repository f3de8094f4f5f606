/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which port of which RDMA device a rank uses, and with which address. Only computes, from the
 * table of ports.
 */
#ifndef INA_RDMA_CHOICE_H
#define INA_RDMA_CHOICE_H

#include <stddef.h>

#include "ports.h"

/* Why a port cannot be used; the first that applies. */
enum ina_port_fault {
	INA_PORT_FITS,
	INA_PORT_IS_CLOSED, /* the process cannot open the device */
	INA_PORT_IS_IWARP,
	INA_PORT_IS_INFINIBAND,
	INA_PORT_HAS_NO_IPV4, /* no GID that stands for an IPv4 address of this host */
	INA_PORT_HAS_V1,      /* such GIDs are of RoCE v1 alone */
	INA_PORT_IS_DOWN,
};

/* Writes the name of a port, as "mlx5_0:1"; of a device that cannot be opened, as "mlx5_0". */
#define INA_PORT_NAME_SIZE (IBV_SYSFS_NAME_MAX + 12)
void ina_port_name(const struct ina_port *port, char name[INA_PORT_NAME_SIZE]);

enum ina_port_fault ina_port_fault(const struct ina_port *port);

/* The fault in words, as "is down"; the text is static. */
const char *ina_port_fault_text(enum ina_port_fault fault);

/* Can libina use a GID of this type and address? */
bool ina_gid_fits(const struct ina_gid *gid);

struct ina_wish {
	const char *list; /* of devices (hostlib/options/device_list.h) */
	uint32_t bind;    /* the requested address; 0: any */
	uint32_t route;   /* the address from which this host reaches rank 0; 0: unknown */
	uint32_t root;    /* rank 0's address; 0: unknown */
	/* A list of devices to use serves several strands in turn: 0 is the first. */
	unsigned int strand;
};

struct ina_choice {
	const struct ina_port *port;
	const struct ina_gid *gid;
};

/*
 * Chooses a port that fits. In this order, a port comes first if
 * - its name comes first in the list,
 * - it has the address from which this host reaches rank 0, or else one in rank 0's subnet,
 * - it is near, unless the list names the devices to use: all processes of a machine then have the
 *   same order, and
 * - it comes first in the table.
 * If the list names the devices to use, strand s gets port s of this order, modulo their number.
 * Returns false if no port fits.
 */
bool ina_choose(const struct ina_ports *ports, const struct ina_wish *wish,
                struct ina_choice *choice);

/* Does the list allow some port of the table? */
bool ina_list_matches(const struct ina_ports *ports, const char *list);

/*
 * Writes the ports that the list allows, each with the reason why it cannot be used, as "rxe0:1 is
 * down, mlx5_0:1 is InfiniBand".
 */
void ina_ports_explain(const struct ina_ports *ports, const char *list, char *text, size_t size);

#endif
