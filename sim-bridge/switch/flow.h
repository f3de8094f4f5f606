/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies flows: the frames of a flow must not overtake each other. */
#ifndef INA_BRIDGE_FLOW_H
#define INA_BRIDGE_FLOW_H

#include <stdint.h>

#include "frame_pool.h"

/*
 * Returns a number that is the same for all frames of a flow. For IPv4 and IPv6 it depends on the
 * addresses, the protocol and the ports; for other frames on the MAC addresses.
 */
uint64_t flow_of(const struct frame *frame);

#endif
