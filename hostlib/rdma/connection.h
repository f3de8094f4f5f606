/* SPDX-License-Identifier: Apache-2.0 */
/* Makes connections, and receives events of connections and of the device. */
#ifndef INA_RDMA_CONNECTION_H
#define INA_RDMA_CONNECTION_H

#include "transport.h"
#include "hostlib/bootstrap/bootstrap.h"
#include "hostlib/control/control.h"

/*
 * Connects to the successor and from the predecessor in the order of ranks, and with the partners,
 * for the purposes that every communicator has. Ends early if another rank has failed; the
 * agreement that follows has the cause.
 */
enum ina_status ina_transport_connect(struct ina_transport *transport, struct ina_control *control,
                                      const struct ina_roster *roster, int64_t deadline_ms,
                                      struct ina_failure *failure);

/*
 * Set the neighbours with which the next connections of a purpose are made: given ones, or those in
 * the order of ranks.
 */
void ina_transport_set_neighbours(struct ina_transport *transport, enum ina_purpose purpose,
                                  int next, int previous);
void ina_transport_set_rank_order(struct ina_transport *transport, enum ina_purpose purpose);

/*
 * Makes the connections of one purpose again without waiting, after ina_transport_drop() on all
 * ranks. The caller calls ina_manager_begin() once, and then this until it fails or sets *ready.
 * Connection requests of other ranks are recognised by transport->job_id.
 */
enum ina_status ina_transport_step(struct ina_transport *transport, bool *ready,
                                   struct ina_failure *failure);

/*
 * The same, but also ends with the error of another rank, which the control channel has reported,
 * and at the deadline.
 */
enum ina_status ina_transport_step_until(struct ina_transport *transport,
                                         struct ina_control *control, int64_t deadline_ms,
                                         bool *ready, struct ina_failure *failure);

/*
 * Handles the pending events of the device and the connection manager, such as connection requests
 * of other ranks. Returns INA_ERR_DEVICE if the device has failed or was removed. To be called when
 * one of the descriptors is ready, except if the first one reports only completions.
 */
enum ina_status ina_transport_attend(struct ina_transport *transport, struct ina_failure *failure);

/*
 * Does the device still have the address and the MTU with which the connections were made? Returns
 * INA_OK or INA_ERR_DEVICE. With another address or a smaller MTU the connections would fail sooner
 * or later, without a reason.
 */
enum ina_status ina_transport_look(const struct ina_transport *transport,
                                   struct ina_failure *failure);

#endif
