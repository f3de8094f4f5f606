/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap: all ranks find rank 0, and learn through it where the others are. */
#ifndef INA_BOOTSTRAP_BOOTSTRAP_H
#define INA_BOOTSTRAP_BOOTSTRAP_H

#include "acceptor.h"
#include "hostlib/control/control.h"
#include "hostlib/options/settings.h"
#include "roster.h"

/*
 * Connects each rank with its parent and its children in the tree, compares the options of all
 * ranks, and fills in the roster on every rank. Callers that do not belong to this job are rejected
 * and counted. If it fails, every rank that has connected gets the error.
 *
 * failure, on entry: an earlier error of this rank, which keeps it from taking part. Then no rank
 * can: this rank reports to rank 0, and all ranks that connect get its number and its reason as
 * their error. None of this allocates memory, since lack of memory may be the reason.
 *
 * local: where this rank accepts RDMA connections and, at tcp_port, other ranks, which the acceptor
 * receives. Rank 0 uses its tcp_port only after the bootstrap; in the bootstrap it listens at the
 * root, with the acceptor's memory.
 */
enum ina_status ina_bootstrap(struct ina_control *control, const struct ina_settings *settings,
                              const struct ina_endpoint *local, struct ina_acceptor *acceptor,
                              int64_t deadline_ms, struct ina_roster *roster,
                              struct ina_failure *failure);

#endif
