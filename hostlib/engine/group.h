/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups: requests that are started in a group are put at the end of the queue together.
 * Consecutive small all-reduces of the same type and operation are merged into one, with all their
 * elements in scratch memory, because a message has room for many.
 */
#ifndef INA_ENGINE_GROUP_H
#define INA_ENGINE_GROUP_H

#include "engine.h"

/* The most bytes of a request that can be merged, and of a merged request. */
#define INA_GROUP_MEMBER_BYTES 16384u
#define INA_GROUP_BYTES        262144u

/*
 * Ends a group. Returns INA_OK, or the error with which the communicator has failed; all requests
 * of the group have ended with that error then.
 */
enum ina_status ina_group_put(struct ina_comm *comm, struct ina_group *group);

#endif
