/* SPDX-License-Identifier: Apache-2.0 */
/* Where the ranks are among the switches, when a communicator is opened. */
#ifndef INA_COMMUNICATOR_PLACES_H
#define INA_COMMUNICATOR_PLACES_H

#include "hostlib/engine/comm.h"

/*
 * Fills comm->network.tree, the same at all ranks. The aggregated connections, on which the TRACEs
 * went, are made anew where they have to go another way round.
 */
enum ina_status ina_comm_find_places(struct ina_comm *comm, int64_t deadline_ms,
                                     struct ina_failure *failure);

#endif
