/* SPDX-License-Identifier: Apache-2.0 */
/* What every rank knows after the bootstrap, until it is connected: 16 bytes a rank. */
#ifndef INA_BOOTSTRAP_ROSTER_H
#define INA_BOOTSTRAP_ROSTER_H

#include "hostlib/control/link.h"

struct ina_roster {
	uint64_t job_id; /* of the communicator, random */
	struct ina_endpoint endpoints[INA_MAX_RANKS];
};

#endif
