/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap: all ranks find rank 0, and learn of each other through it. */
#ifndef INA_BOOTSTRAP_BOOTSTRAP_H
#define INA_BOOTSTRAP_BOOTSTRAP_H

#include "acceptor.h"
#include "hostlib/control/control.h"
#include "hostlib/options/options.h"
#include "roster.h"

/*
 * Connects each rank with its parent and its children in the tree, compares what the ranks
 * brought, and fills the roster on all of them. Who is not a rank of this job is sent away and
 * counted. Every rank that has come gets an error.
 *
 * failure, on entry: what has failed at this rank already, so that it cannot take part. Then no
 * rank can: rank 0 is told, and all ranks that come get this rank and its reason as their error.
 * None of this needs memory, which may be the reason.
 *
 * local: where this rank accepts RDMA connections, and, at tcp_port, ranks, who come to the
 * acceptor. Rank 0's is for later; here it listens at the root, with the acceptor's memory.
 */
enum ina_status ina_bootstrap(struct ina_control *control, const struct ina_settings *settings,
                              const struct ina_endpoint *local, struct ina_acceptor *acceptor,
                              int64_t deadline_ms, struct ina_roster *roster,
                              struct ina_failure *failure);

#endif
