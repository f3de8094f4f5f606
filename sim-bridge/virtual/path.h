/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: a frame's way from a host to the switch, and from the switch to a host. */
#ifndef INA_BRIDGE_VIRTUAL_PATH_H
#define INA_BRIDGE_VIRTUAL_PATH_H

#include "state.h"

/* Takes all frames that a host has sent in its turn; they count as sent at the current time. */
void virtual_empty_queue(struct virtual_time *time, unsigned port);

/* Implements fabric_transmit; `context` is the struct virtual_time. */
bool virtual_transmit(void *context, unsigned port, uint64_t time_ns, struct frame *frame);

#endif
