/* SPDX-License-Identifier: Apache-2.0 */
/* Connections are made, and what befalls them and the device is heard. */
#ifndef INA_RDMA_CONNECTION_H
#define INA_RDMA_CONNECTION_H

#include "fabric.h"
#include "hostlib/bootstrap/bootstrap.h"
#include "hostlib/control/control.h"

/*
 * Connects to the successor and from the predecessor, rank by rank, for the purposes that are
 * always there. Gives up when another rank has failed (then the failure is INA_ERR_PEER, and the
 * agreement that follows says more).
 */
enum ina_status ina_fabric_connect(struct ina_fabric *fabric, struct ina_control *control,
                                   const struct ina_roster *roster, int64_t deadline_ms,
                                   struct ina_failure *failure);

/* The neighbours that a purpose's connections are to be made with next; those by rank. */
void ina_fabric_set_neighbours(struct ina_fabric *fabric, enum ina_purpose purpose, int next,
                               int previous);
void ina_fabric_set_rank_order(struct ina_fabric *fabric, enum ina_purpose purpose);

/* Connects for one purpose, whose neighbours are set, after ina_fabric_drop() on all ranks. */
enum ina_status ina_fabric_reconnect(struct ina_fabric *fabric, enum ina_purpose purpose,
                                     struct ina_control *control, int64_t deadline_ms,
                                     struct ina_failure *failure);

/*
 * One purpose's connections anew, after ina_fabric_drop() on all ranks; fabric->job_id says which
 * requests are ours. ina_manager_begin() once, then this, which does not wait, until it fails or
 * *ready.
 */
enum ina_status ina_fabric_step(struct ina_fabric *fabric, bool *ready,
                                struct ina_failure *failure);

/*
 * Takes what the device and the connection manager tell of, as far as it is there: the other ranks'
 * connections, and INA_ERR_DEVICE if the device has failed or is gone. To be called when one of the
 * descriptors is ready, but for the first of them, which tells of completions as well.
 */
enum ina_status ina_fabric_attend(struct ina_fabric *fabric, struct ina_failure *failure);

/*
 * Is the device still the one with which the connections were made? INA_OK, or INA_ERR_DEVICE:
 * another address, or a smaller MTU, ends them sooner or later, without saying why.
 */
enum ina_status ina_fabric_look(const struct ina_fabric *fabric, struct ina_failure *failure);

#endif
