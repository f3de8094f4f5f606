/* SPDX-License-Identifier: Apache-2.0 */
/* Where the ranks are among the switches, when a communicator is opened, and which switches. */
#ifndef INA_COMMUNICATOR_PLACES_H
#define INA_COMMUNICATOR_PLACES_H

#include "hostlib/engine/comm.h"

/*
 * Fills comm->network.tree, the same at all ranks. The aggregated connections, on which the TRACEs
 * went, are made anew where they have to go another way round, or by another tree, which serves
 * fewer jobs (spread.h).
 */
enum ina_status ina_comm_find_places(struct ina_comm *comm, int64_t deadline_ms,
                                     struct ina_failure *failure);

/*
 * The JOINs were granted, but other jobs have come to the tree at the same time: the job LEAVEs,
 * and is connected on the tree whose number is larger by `further`. ina_comm_find_places() comes
 * next.
 */
enum ina_status ina_comm_make_way(struct ina_comm *comm, unsigned int further, int64_t deadline_ms,
                                  struct ina_failure *failure);

#endif
