/* SPDX-License-Identifier: Apache-2.0 */
/* The host's port at which each IP address was last seen (docs/protocol.md, Another port). */
#ifndef INA_BRIDGE_SOURCES_H
#define INA_BRIDGE_SOURCES_H

#include <stdbool.h>

#include "forwarding.h"
#include "frame_pool.h"

/*
 * A frame has come from a host. Returns false if the frame must not reach an aggregator: it is a
 * JOIN, and its source address was last seen at another host's port.
 */
bool sources_admit(struct forwarding *sources, unsigned host, const struct frame *frame);

/* Returns the host at which an IP address (4 or 16 bytes) was last seen, or FORWARDING_FLOOD. */
int sources_find(const struct forwarding *sources, uint16_t vlan_id, enum ip_version ip,
                 const uint8_t *address);

#endif
