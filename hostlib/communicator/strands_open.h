/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a communicator that has other communicators as its network: a rail, on machines with
 * several ranks, or channels. The ranks must have met. listener: a TCP socket, on which the first
 * rank of each strand accepts the others. These functions take it over and close it.
 */
#ifndef INA_COMMUNICATOR_STRANDS_OPEN_H
#define INA_COMMUNICATOR_STRANDS_OPEN_H

#include "hostlib/engine/engine.h"
#include "hostlib/machine/topology.h"

enum ina_status ina_comm_open_rails(struct ina_comm *comm, const struct ina_topology *topology,
                                    const struct ina_roster *roster, int listener,
                                    struct ina_failure *failure);

enum ina_status ina_comm_open_channels(struct ina_comm *comm, const struct ina_roster *roster,
                                       int listener, struct ina_failure *failure);

#endif
