/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap: all ranks find rank 0, and learn of each other through it. */
#ifndef INA_BOOTSTRAP_BOOTSTRAP_H
#define INA_BOOTSTRAP_BOOTSTRAP_H

#include "hostlib/control/control.h"
#include "hostlib/options/options.h"

struct ina_roster {
	uint64_t job_id;
	struct ina_endpoint endpoints[INA_MAX_RANKS];
};

/*
 * Connects the links of `control`, compares what the ranks brought, and fills the roster on all
 * of them. Connections that are not from a rank are closed and forgotten. Every rank that has
 * come gets the same error.
 *
 * local: where this rank accepts RDMA connections.
 */
enum ina_status ina_bootstrap(struct ina_control *control, const struct ina_settings *settings,
                              const struct ina_endpoint *local, int64_t deadline_ms,
                              struct ina_roster *roster, struct ina_failure *failure);

#endif
