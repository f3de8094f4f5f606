/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the positions of the ranks among the switches when a communicator is opened, and chooses
 * the tree.
 */
#ifndef INA_COMMUNICATOR_PLACES_H
#define INA_COMMUNICATOR_PLACES_H

#include "hostlib/engine/comm.h"

/*
 * Fills in comm->network.tree, the same on all ranks. The TRACEs use the aggregated connections.
 * These are made again if they need another order of ranks, or another tree that serves fewer jobs
 * (spread.h).
 */
enum ina_status ina_comm_find_places(struct ina_comm *comm, int64_t deadline_ms,
                                     struct ina_failure *failure);

/*
 * Called when the JOINs were granted, but other jobs have come to the tree at the same time. The
 * job LEAVEs, and connects on the tree whose number is larger by `further`. The caller calls
 * ina_comm_find_places() next.
 */
enum ina_status ina_comm_make_way(struct ina_comm *comm, unsigned int further, int64_t deadline_ms,
                                  struct ina_failure *failure);

#endif
