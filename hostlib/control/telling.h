/* SPDX-License-Identifier: Apache-2.0 */
/* When a rank informs its neighbours, and how it ends. */
#ifndef INA_CONTROL_TELLING_H
#define INA_CONTROL_TELLING_H

#include <poll.h>

#include "exchange.h"

/* Sends the news that is due. */
void ina_control_tell(struct ina_control *control);

/*
 * Waits up to timeout_ms for frames, handles all that have arrived, and sends the news that is due.
 */
void ina_control_pump(struct ina_control *control, int timeout_ms);

/* Fills in the descriptors to poll; fds has room for INA_NEIGHBOURS_MAX. Returns their number. */
int ina_control_pollfds(const struct ina_control *control, struct pollfd *fds);

/*
 * Informs all neighbours that this rank sends no further frames, so that they do not take the end
 * of its connections for its death. failure: the failure with which the communicator ends, which
 * all ranks learn; status INA_OK: the communicator was closed.
 */
void ina_control_farewell(struct ina_control *control, const struct ina_failure *failure);

/*
 * Called after the farewell of ina_close(): waits up to a second for the neighbours to close their
 * connections.
 */
void ina_control_await_farewells(struct ina_control *control);

#endif
