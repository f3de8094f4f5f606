/* SPDX-License-Identifier: Apache-2.0 */
/* The fabric's MAC address table: the host's port at which each address was last seen. */
#ifndef INA_BRIDGE_FORWARDING_H
#define INA_BRIDGE_FORWARDING_H

#include <stdint.h>

enum {
	FORWARDING_BITS = 12,
	FORWARDING_SLOTS = 1 << FORWARDING_BITS,
	FORWARDING_PROBES = 8, /* places in which an address may be stored */
	FORWARDING_FLOOD = -1,
};

struct forwarding {
	struct {
		uint64_t mac; /* 0: free */
		int port;
	} slots[FORWARDING_SLOTS];
};

/*
 * `mac` (6 bytes) was a source on `port`. Returns its port until now, or FORWARDING_FLOOD. Ignores
 * group addresses and the all-zero address.
 */
int forwarding_learn(struct forwarding *forwarding, const uint8_t *mac, unsigned port);

/* Returns a destination's port, or FORWARDING_FLOOD for group and unknown addresses. */
int forwarding_find(const struct forwarding *forwarding, const uint8_t *mac);

/* The port has closed: forgets all addresses that were seen there. */
void forwarding_forget_port(struct forwarding *forwarding, unsigned port);

#endif
