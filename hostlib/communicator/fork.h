/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The children of a process that has communicators. A child has all descriptors and mappings of its
 * parent: as long as it has them, the parent's connections do not end with the parent, and the
 * other ranks would not hear of its end. So a child gives them up as it comes to life.
 */
#ifndef INA_COMMUNICATOR_FORK_H
#define INA_COMMUNICATOR_FORK_H

#include "hostlib/engine/comm.h"

/* From when it has descriptors, and until they are closed. */
void ina_fork_watch(struct ina_comm *comm);
void ina_fork_forget(struct ina_comm *comm);

/* Whoever is in the midst of a step has passed this gate: fork() waits for it. NULL: no longer. */
void ina_fork_guard(struct ina_comm *comm, struct ina_gate *gate);

/*
 * INA_ERR_ARGUMENT in a process that was forked while its parent had communicators: libibverbs and
 * librdmacm keep what they know of the device, and it is of no use here.
 */
enum ina_status ina_fork_check(struct ina_failure *failure);

#endif
