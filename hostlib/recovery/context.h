/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a communicator that a recovery works on. The communicator owns them. */
#ifndef INA_RECOVERY_CONTEXT_H
#define INA_RECOVERY_CONTEXT_H

#include "hostlib/algorithms/network.h"
#include "hostlib/control/agreement.h"
#include "hostlib/options/log.h"

struct ina_recovery_context {
	struct ina_control *control;
	struct ina_network
	        /* NULL: the communicator has rails, whose networks recover on their own */
	        *network;
	const struct ina_settings *settings;
	struct ina_log *log;
	struct ina_stats *stats;
	const struct ina_turn *turn;
};

#endif
