/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large receive offload (LRO): a network adapter merges received frames in hardware. Unlike GRO it
 * does not say how long they were, so a switch must turn it off, as the kernel's own bridge does.
 */
#ifndef INA_BRIDGE_LARGE_RECEIVE_H
#define INA_BRIDGE_LARGE_RECEIVE_H

#include <stdbool.h>

/*
 * `fd` is any socket. If it is on at the interface `name`, turns it off and prints one line.
 * Returns true if it was turned off.
 */
bool large_receive_turn_off(int fd, const char *name);

/* Turns it on at interface `index`, unless that does not exist. */
void large_receive_turn_on(int fd, int index);

#endif
