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

/* Writes the MAC address for the frame's IP source. Returns false if there is no IP. */
static bool stand_in(const struct frame *frame, uint8_t *mac)
{
	const uint8_t *ip = frame->bytes + frame->roce.ip_at;
	uint64_t number = 1 + frame->roce.vlan_id;

	switch (frame->roce.ip) {
	case IP_V4:
		number = mix(number, ip + PACKET_IPV4_SOURCE_AT, 4);
		break;
	case IP_V6:
		number = mix(number, ip + PACKET_IPV6_SOURCE_AT, 16);
		break;
	case IP_NONE:
		return false;
	}
	memcpy(mac, &number, PACKET_MAC_BYTES);
	mac[0] = LOCAL;
	return true;
}

bool sources_admit(struct forwarding *sources, unsigned host, const struct frame *frame)
{
	uint8_t mac[PACKET_MAC_BYTES];

	if (!stand_in(frame, mac))
		return true;
	const int known = forwarding_find(sources, mac);

	if (known == (int)host)
		return true;
	if (known != FORWARDING_FLOOD && frame->roce.is_join)
		return false;
	forwarding_learn(sources, mac, host);
	return true;
}
