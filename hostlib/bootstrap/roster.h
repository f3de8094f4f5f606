/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of the bootstrap on every rank, needed until the rank is connected. It has 16 bytes
 * for each rank.
 */
#ifndef INA_BOOTSTRAP_ROSTER_H
#define INA_BOOTSTRAP_ROSTER_H

#include "hostlib/control/tcp_link.h"

struct ina_roster {
	uint64_t job_id; /* random; identifies the communicator */
	struct ina_endpoint endpoints[INA_MAX_RANKS];
};

#endif
