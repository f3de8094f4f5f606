/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a communicator: over rails, over channels, or flat. */
#include "channels_open.h"
#include "communicator.h"
#include "rails_open.h"

static enum ina_status connect_ranks(struct ina_comm *comm, const struct ina_met *met,
                                     struct ina_failure *failure)
{
	return met->layout.rails > 0 ? ina_comm_connect_rails(comm, met, failure)
	                             : ina_comm_connect_channels(comm, met, failure);
}

enum ina_status ina_comm_open(struct ina_comm *comm, struct ina_failure *failure)
{
	return ina_comm_open_by(comm, connect_ranks, failure);
}
