/* SPDX-License-Identifier: Apache-2.0 */
/* The RDMA device: its address, and the events that it reports. */
#ifndef INA_RDMA_DEVICE_H
#define INA_RDMA_DEVICE_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "hostlib/options/settings.h"

/*
 * An IPv4 address of the first device of the list (hostlib/options/device_list.h) that can be used,
 * in network byte order, or 0.
 */
uint32_t ina_device_address(const char *list);

/* Does this host have an RDMA device with this address, for RoCE v2? */
bool ina_device_has(uint32_t address);

/* Does this host have any RDMA device? */
bool ina_device_is_any(void);

/*
 * Finds the address whose device is to be used, and sets its port to 0. If settings->bind is given,
 * or this host has no RDMA device, the address may be none of a device. Returns INA_OK,
 * INA_ERR_DEVICE, INA_ERR_MEMORY or INA_ERR_SYSTEM.
 */
enum ina_status ina_device_find(const struct ina_settings *settings, struct sockaddr_in *address,
                                struct ina_failure *failure);

/*
 * Takes the pending events of the device. Returns whether one of them ends all use of the device or
 * of this completion queue. Events of queue pairs and ports are ignored, because completions report
 * these errors too. The communicators of one process share the events: the first to look takes
 * them.
 */
bool ina_device_has_failed(struct ibv_context *context, const struct ibv_cq *cq);

/* Refuses a device or port that has no RoCE. Returns INA_OK or INA_ERR_DEVICE. */
enum ina_status ina_device_check(const char *device, enum ibv_transport_type transport,
                                 uint8_t link_layer, struct ina_failure *failure);

/*
 * Refuses a device that has no room for such queue pairs, for their number, or for the entries of
 * their completion queue. Returns INA_OK or INA_ERR_DEVICE.
 */
enum ina_status ina_device_check_limits(const char *device, const struct ibv_device_attr *limits,
                                        const struct ibv_qp_cap *room, int entries, int queue_pairs,
                                        struct ina_failure *failure);

/*
 * The MTU of a network interface (0: unknown), or less, if the port's MTU is smaller than the path
 * MTU that would fit.
 */
uint16_t ina_device_mtu(enum ibv_mtu active_mtu, uint32_t interface_mtu);

/* The path MTU that Linux chooses for this MTU, in bytes: packets with all headers must fit. */
unsigned int ina_path_mtu(uint16_t mtu);

/*
 * Refuses the type of the GID with which the connection manager has connected (enum ibv_gid_type).
 * Returns INA_OK, or INA_ERR_DEVICE with the commands that make RoCE v2 its default.
 */
enum ina_status ina_device_check_gid(const char *device, unsigned int port, uint32_t type,
                                     struct ina_failure *failure);

/* Sets the failure of a device that has failed or was removed: INA_ERR_DEVICE. */
enum ina_status ina_device_gone(const char *device, struct ina_failure *failure);

#endif
