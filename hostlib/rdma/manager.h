/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting through the RDMA connection manager. */
#ifndef INA_RDMA_MANAGER_H
#define INA_RDMA_MANAGER_H

#include "transport.h"

/*
 * Begins to connect to the successor or, for INA_PURPOSE_PARTNER, to the partners that this rank
 * connects to.
 */
enum ina_status ina_manager_begin(struct ina_transport *transport, enum ina_purpose purpose,
                                  struct ina_failure *failure);

/*
 * Handles the pending events of the connection manager. Errors of connections that are being made
 * are stored in transport->attempt; the status reports errors of the device.
 */
enum ina_status ina_manager_attend(struct ina_transport *transport, struct ina_failure *failure);

#endif
