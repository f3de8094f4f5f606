/* SPDX-License-Identifier: Apache-2.0 */
/* Connects a flat communicator: one whose ranks exchange elements over a separate network. */
#ifndef INA_COMMUNICATOR_FLAT_H
#define INA_COMMUNICATOR_FLAT_H

#include "opening.h"

/*
 * An ina_connect: makes the connections around the ring of all ranks, sets up the memory, JOINs,
 * and chooses the algorithm.
 */
enum ina_status ina_comm_connect_flat(struct ina_comm *comm, const struct ina_met *met,
                                      struct ina_failure *failure);

#endif
