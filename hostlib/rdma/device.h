/* SPDX-License-Identifier: Apache-2.0 */
/* The RDMA device: by which address it is used, and what it tells of itself. */
#ifndef INA_RDMA_DEVICE_H
#define INA_RDMA_DEVICE_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "hostlib/options/options.h"

/* An IPv4 address of the device, or of the first one that has one if name is "", or 0. */
uint32_t ina_device_address(const char *name);

/* Has this host an RDMA device with this address? */
bool ina_device_has(uint32_t address);

/* Has this host any RDMA device? */
bool ina_device_is_any(void);

/* The address whose device is to be used, its port 0. INA_OK, _DEVICE or _SYSTEM. */
enum ina_status ina_device_find(const struct ina_settings *settings, struct sockaddr_in *address,
                                struct ina_failure *failure);

/*
 * Takes the device's events as far as they are there: does one end all use of it, or of this
 * completion queue? What befalls queue pairs and ports, completions tell. Communicators of one
 * process share these events, and the first to look has them.
 */
bool ina_device_has_failed(struct ibv_context *context, const struct ibv_cq *cq);

/* INA_ERR_DEVICE, and its sentence. */
enum ina_status ina_device_gone(const char *device, struct ina_failure *failure);

#endif
