/* SPDX-License-Identifier: Apache-2.0 */
/* Behind which host's port each IP address was seen last (docs/protocol.md, Another port). */
#ifndef INA_BRIDGE_SOURCES_H
#define INA_BRIDGE_SOURCES_H

#include <stdbool.h>

#include "forwarding.h"
#include "frame_pool.h"

/*
 * A frame has come from a host. False: it is a JOIN, and its source address was last seen behind
 * another host's port, so no aggregator may have it.
 */
bool sources_admit(struct forwarding *sources, unsigned host, const struct frame *frame);

#endif
