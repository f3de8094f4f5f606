/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: a frame's way from a host to the switch, and from there to a host. */
#ifndef INA_BRIDGE_VIRTUAL_PATH_H
#define INA_BRIDGE_VIRTUAL_PATH_H

#include "state.h"

/* All that a host has sent since it began to run, at the time at which it did. */
void virtual_empty_queue(struct virtual_time *time, unsigned port);

/* A fabric_transmit; context: the struct. */
bool virtual_transmit(void *context, unsigned port, uint64_t time_ns, struct frame *frame);

#endif
