/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: the hosts' common start, what befalls them and the aggregator after it, their end.
 */
#ifndef INA_BRIDGE_VIRTUAL_LIFECYCLE_H
#define INA_BRIDGE_VIRTUAL_LIFECYCLE_H

#include "state.h"

/* What the muster says follows: the start of all, or the end. */
void virtual_follow_muster(struct virtual_time *time, enum muster_news news);

/* A host has gone. */
void virtual_lose_host(struct virtual_time *time, unsigned port);

#endif
