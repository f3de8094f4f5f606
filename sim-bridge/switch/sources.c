/* SPDX-License-Identifier: Apache-2.0 */
/* In a table of MAC addresses, a made-up one stands for an IP address in its VLAN. */
#include "sources.h"

#include <string.h>

#include "common/headers.h"
#include "common/random.h"

/* The first byte of a locally administered address (IEEE 802). */
enum { LOCAL = 0x02 };

static uint64_t mix(uint64_t number, const uint8_t *bytes, unsigned count)
{
	for (unsigned at = 0; at < count; at += 4) {
		uint32_t word;

		memcpy(&word, bytes + at, sizeof(word));
		number = ina_mix(number ^ word);
	}
	return number;
}

/* Writes the MAC address for an IP address (4 or 16 bytes). */
static void stand_in(uint16_t vlan_id, enum ip_version ip, const uint8_t *address, uint8_t *mac)
{
	const uint64_t number = mix(1 + vlan_id, address, ip == IP_V6 ? 16 : 4);

	memcpy(mac, &number, PACKET_MAC_BYTES);
	mac[0] = LOCAL;
}

int sources_find(const struct forwarding *sources, uint16_t vlan_id, enum ip_version ip,
                 const uint8_t *address)
{
	uint8_t mac[PACKET_MAC_BYTES];

	stand_in(vlan_id, ip, address, mac);
	return forwarding_find(sources, mac);
}

bool sources_admit(struct forwarding *sources, unsigned host, const struct frame *frame)
{
	uint8_t mac[PACKET_MAC_BYTES];

	if (frame->roce.ip == IP_NONE)
		return true;
	stand_in(frame->roce.vlan_id, frame->roce.ip,
	         frame->bytes + frame->roce.ip_at +
	                 (frame->roce.ip == IP_V6 ? PACKET_IPV6_SOURCE_AT : PACKET_IPV4_SOURCE_AT),
	         mac);
	const int known = forwarding_find(sources, mac);

	if (known == (int)host)
		return true;
	if (known != FORWARDING_FLOOD && frame->roce.is_join)
		return false;
	forwarding_learn(sources, mac, host);
	return true;
}
