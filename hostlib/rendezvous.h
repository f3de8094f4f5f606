/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous: all ranks find rank 0, and learn of each other through it. */
#ifndef INA_RENDEZVOUS_H
#define INA_RENDEZVOUS_H

#include "control.h"
#include "options.h"

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
enum ina_status ina_rendezvous(struct ina_control *control, const struct ina_settings *settings,
                               const struct ina_endpoint *local, int64_t deadline_ms,
                               struct ina_roster *roster, struct ina_failure *failure);

/*
 * A rail's rendezvous is at a port of any number, which the roster of the first one tells.
 * *listener is the caller's, until it is in the settings of a rendezvous, which closes it; *port is
 * in network order. INA_OK or INA_ERR_SYSTEM.
 */
enum ina_status ina_rail_listen(int *listener, uint16_t *port, struct ina_failure *failure);

#endif
