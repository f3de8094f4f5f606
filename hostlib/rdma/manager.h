/* SPDX-License-Identifier: Apache-2.0 */
/* The RDMA connection manager: what is asked of it, and what is done when it tells of something. */
#ifndef INA_RDMA_MANAGER_H
#define INA_RDMA_MANAGER_H

#include "fabric.h"

/* Begins to connect to the successor; to the partners that this rank connects to. */
enum ina_status ina_manager_begin(struct ina_fabric *fabric, enum ina_purpose purpose,
                                  struct ina_failure *failure);

/*
 * Takes its events as far as they are there. What has become of connections that are being made is
 * in fabric->attempt; the status is the device's.
 */
enum ina_status ina_manager_attend(struct ina_fabric *fabric, struct ina_failure *failure);

#endif
