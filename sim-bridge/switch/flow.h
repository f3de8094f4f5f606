/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames belong together: those that must not overtake each other. */
#ifndef INA_BRIDGE_FLOW_H
#define INA_BRIDGE_FLOW_H

#include <stdint.h>

#include "frame_pool.h"

/*
 * A number that is the same for all frames of a flow: of IPv4 and IPv6 its addresses, protocol and
 * ports, of all else its MAC addresses.
 */
uint64_t flow_of(const struct frame *frame);

#endif
