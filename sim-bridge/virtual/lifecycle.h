/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: the common start of the hosts, the faults planned after it, and the end. */
#ifndef INA_BRIDGE_VIRTUAL_LIFECYCLE_H
#define INA_BRIDGE_VIRTUAL_LIFECYCLE_H

#include "state.h"

/* Acts on the muster's news: starts all hosts, or ends the run. */
void virtual_follow_muster(struct virtual_time *time, enum muster_news news);

/* A host has gone: closes its connections, and forgets its addresses. */
void virtual_lose_host(struct virtual_time *time, unsigned port);

#endif
