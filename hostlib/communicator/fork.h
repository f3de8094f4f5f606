/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The children of a process that has communicators. A child inherits all descriptors and mappings.
 * As long as it has them, the connections do not end when the parent ends, and the other ranks
 * would not notice. So a child gives them up as soon as it starts to run.
 */
#ifndef INA_COMMUNICATOR_FORK_H
#define INA_COMMUNICATOR_FORK_H

#include "hostlib/engine/comm.h"

/*
 * ina_fork_watch() must be called when the communicator has descriptors, and ina_fork_forget()
 * before they are closed.
 */
void ina_fork_watch(struct ina_comm *comm);
void ina_fork_forget(struct ina_comm *comm);

/*
 * Sets the gate that a thread enters for each step, so that fork() can wait for it. NULL: no gate
 * any more.
 */
void ina_fork_guard(struct ina_comm *comm, struct ina_gate *gate);

/*
 * Returns INA_ERR_ARGUMENT in a process that was forked while its parent had communicators. There,
 * libibverbs and librdmacm still hold the parent's state of the device, which is useless in the
 * child.
 */
enum ina_status ina_fork_check(struct ina_failure *failure);

#endif
