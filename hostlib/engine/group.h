/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups: requests that are started in one go into the queue together, at its end. Small
 * all-reduces of the same type and operation that follow one another become one, of all their
 * elements in scratch memory: a message has room for many.
 */
#ifndef INA_ENGINE_GROUP_H
#define INA_ENGINE_GROUP_H

#include "comm.h"

/* Bytes of one that shares messages, and of all that become one, at most. */
#define INA_GROUP_MEMBER_BYTES 16384u
#define INA_GROUP_BYTES        262144u

/* INA_OK, or what the communicator has died of: then all of them have ended with that. */
enum ina_status ina_group_put(struct ina_comm *comm, struct ina_group *group);

#endif
