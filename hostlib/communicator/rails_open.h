/* SPDX-License-Identifier: Apache-2.0 */
/* Connects a communicator over rails, on machines with several ranks. */
#ifndef INA_COMMUNICATOR_RAILS_OPEN_H
#define INA_COMMUNICATOR_RAILS_OPEN_H

#include "opening.h"

/* An ina_connect: opens this rank's rail, and memory that the ranks of a machine share. */
enum ina_status ina_comm_connect_rails(struct ina_comm *comm, const struct ina_met *met,
                                       struct ina_failure *failure);

#endif
