/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of a communicator that has communicators of its own for a network: a rail, on
 * machines with several ranks, or channels. The ranks have met. listener: a TCP socket, which these
 * functions take over and close, for the first rank of each strand to accept the others on.
 */
#ifndef INA_COMMUNICATOR_STRANDS_OPEN_H
#define INA_COMMUNICATOR_STRANDS_OPEN_H

#include "hostlib/engine/comm.h"
#include "hostlib/machine/topology.h"

enum ina_status ina_comm_open_rails(struct ina_comm *comm, const struct ina_topology *topology,
                                    const struct ina_roster *roster, int listener,
                                    struct ina_failure *failure);

enum ina_status ina_comm_open_channels(struct ina_comm *comm, const struct ina_roster *roster,
                                       int listener, struct ina_failure *failure);

#endif
