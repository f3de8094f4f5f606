/* SPDX-License-Identifier: Apache-2.0 */
/* Connects a communicator over as many channels as its options say. */
#ifndef INA_COMMUNICATOR_CHANNELS_OPEN_H
#define INA_COMMUNICATOR_CHANNELS_OPEN_H

#include "opening.h"

/* An ina_connect: opens the channels; with one channel, connects a flat communicator. */
enum ina_status ina_comm_connect_channels(struct ina_comm *comm, const struct ina_met *met,
                                          struct ina_failure *failure);

#endif
