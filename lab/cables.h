/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cables that are TAP devices of the machine, in a network namespace that only the bridge's process
 * enters. The namespace has no name, and the devices live as long as their descriptors, so the
 * kernel removes all of them when the run ends, also if it is killed.
 */
#ifndef INA_LAB_CABLES_H
#define INA_LAB_CABLES_H

#include <stdbool.h>

#define LAB_CABLE_NAME "cable%d" /* the device of a host, by the host's number */

struct lab_cables {
	int count;
	int mtu;    /* of each device, in bytes */
	int to_lab; /* an end of a socket pair, to which lab_cables_make() sends the descriptors */
};

/*
 * Runs in the process that becomes the bridge; `context` is a struct lab_cables. Enters a new
 * network namespace, and makes the devices there. On failure prints one line and returns false.
 */
bool lab_cables_make(void *context);

/*
 * Receives the descriptors of all devices, from the other end of the pair. Each carries one
 * Ethernet frame for a read or a write. Returns false with errno set if they do not come.
 */
bool lab_cables_receive(int from, int *fds, int count);

#endif
