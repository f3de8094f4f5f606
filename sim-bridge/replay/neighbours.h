/* SPDX-License-Identifier: Apache-2.0 */
/* Who has which MAC address, as learned from the sources of frames; as a host's table of
 * neighbours. */
#ifndef INA_BRIDGE_NEIGHBOURS_H
#define INA_BRIDGE_NEIGHBOURS_H

#include <stdint.h>

#include "common/headers.h"
#include "sim-bridge/switch/frame_pool.h"

/* Far more than a fabric's hosts need; later addresses are not learned. */
enum { NEIGHBOURS_MAX = 4096, NEIGHBOURS_IP_BYTES = 16 };

struct neighbours {
	unsigned count;
	struct neighbour {
		enum ip_version version;
		uint16_t vlan_id;
		uint8_t ip[NEIGHBOURS_IP_BYTES];
		uint8_t mac[PACKET_MAC_BYTES];
	} list[NEIGHBOURS_MAX];
};

/* Learns the address of a frame's source, if the frame has an IP header. */
void neighbours_learn(struct neighbours *neighbours, const struct frame *frame);

/* Sets the frame's destination MAC address, if it is known. */
void neighbours_address(const struct neighbours *neighbours, struct frame *frame);

#endif
