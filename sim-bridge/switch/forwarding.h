/* SPDX-License-Identifier: Apache-2.0 */
/* The fabric's table of MAC addresses: behind which host's port each one was seen last. */
#ifndef INA_BRIDGE_FORWARDING_H
#define INA_BRIDGE_FORWARDING_H

#include <stdint.h>

enum {
	FORWARDING_BITS = 12,
	FORWARDING_SLOTS = 1 << FORWARDING_BITS,
	FORWARDING_PROBES = 8, /* places where an address may be */
	FORWARDING_FLOOD = -1,
};

struct forwarding {
	struct {
		uint64_t mac; /* 0: free */
		int port;
	} slots[FORWARDING_SLOTS];
};

/* `mac` (6 bytes) was a source on `port`. Group addresses and all zeros are not learned. */
void forwarding_learn(struct forwarding *forwarding, const uint8_t *mac, unsigned port);

/* The port of a destination, or FORWARDING_FLOOD for groups and unknown addresses. */
int forwarding_find(const struct forwarding *forwarding, const uint8_t *mac);

/* The port is closed: what was behind it is unknown again. */
void forwarding_forget_port(struct forwarding *forwarding, unsigned port);

#endif
