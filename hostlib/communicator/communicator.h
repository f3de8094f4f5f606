/* SPDX-License-Identifier: Apache-2.0 */
/* A communicator's life. */
#ifndef INA_COMMUNICATOR_COMMUNICATOR_H
#define INA_COMMUNICATOR_COMMUNICATOR_H

#include "hostlib/engine/comm.h"

/*
 * Opens everything but what the struct holds: the ranks meet, connect, and choose an algorithm.
 * comm->settings are filled in; a rail's and a plain one's flag is set. failure, on entry: what has
 * failed at this rank already; it is told to all ranks, and the communicator is not opened.
 */
enum ina_status ina_comm_open(struct ina_comm *comm, struct ina_failure *failure);

/*
 * There is no memory for the struct: all ranks hear of the failure, as far as rank 0 can be
 * reached. settings: filled in.
 */
void ina_comm_cannot_open(const struct ina_settings *settings, struct ina_failure *failure);

/* Waits for all ranks to close, unless the communicator has failed; frees all. Safe at any stage.
 */
enum ina_status ina_comm_close(struct ina_comm *comm, struct ina_failure *failure);

#endif
