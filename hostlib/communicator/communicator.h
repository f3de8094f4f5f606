/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing a communicator. */
#ifndef INA_COMMUNICATOR_COMMUNICATOR_H
#define INA_COMMUNICATOR_COMMUNICATOR_H

#include "opening.h"

/*
 * Opens a communicator: the ranks meet, connect, and choose an algorithm. The caller has set
 * comm->settings and, for ina_plain_open(), the flag network.plain. failure, on entry: an earlier
 * error of this rank; all ranks are informed of it, and the communicator is not opened.
 */
enum ina_status ina_comm_open(struct ina_comm *comm, struct ina_failure *failure);

/*
 * Waits for all ranks to close, unless the communicator has failed, and frees everything except the
 * struct. Safe at any stage.
 */
enum ina_status ina_comm_close(struct ina_comm *comm, struct ina_failure *failure);

#endif
