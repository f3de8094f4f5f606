/* SPDX-License-Identifier: Apache-2.0 */
#include "flow.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/headers.h"
#include "common/random.h"

enum {
	PROTOCOL_TCP = 6,
	PORTS_BYTES = 4,
	FRAGMENT_MASK = 0x3FFF, /* nonzero: more fragments follow, or it is not the first */
};

/* Mixes bytes into a number, four at a time, and ignores those beyond the frame's end. */
static uint64_t mix(uint64_t number, const struct frame *frame, size_t at, size_t bytes)
{
	for (size_t end = at + bytes; at + 4 <= end && at + 4 <= frame->length; at += 4) {
		uint32_t word;

		memcpy(&word, frame->bytes + at, sizeof(word));
		number = ina_mix(number ^ word);
	}
	return number;
}

static bool has_ports(unsigned protocol)
{
	return protocol == PACKET_PROTOCOL_UDP || protocol == PROTOCOL_TCP;
}

uint64_t flow_of(const struct frame *frame)
{
	const size_t ip = frame->roce.ip_at;
	const uint8_t *header = frame->bytes + ip;

	if (frame->roce.ip == IP_V6) {
		const unsigned protocol = header[PACKET_IPV6_NEXT_AT];
		const uint64_t addresses = mix(protocol, frame, ip + PACKET_IPV6_SOURCE_AT, 32);

		return has_ports(protocol)
		               ? mix(addresses, frame, ip + PACKET_IPV6_BYTES, PORTS_BYTES)
		               : addresses;
	}
	if (frame->roce.ip == IP_V4 && header[0] == PACKET_IPV4_WITHOUT_OPTIONS) {
		const unsigned protocol = header[PACKET_IPV4_PROTOCOL_AT];
		const bool is_fragment =
		        (packet_be16(header + PACKET_IPV4_FRAGMENT_AT) & FRAGMENT_MASK) != 0;
		const uint64_t addresses = mix(protocol, frame, ip + PACKET_IPV4_SOURCE_AT, 8);

		return has_ports(protocol) && !is_fragment
		               ? mix(addresses, frame, ip + PACKET_IPV4_BYTES, PORTS_BYTES)
		               : addresses;
	}
	return mix(0, frame, 0, 2 * PACKET_MAC_BYTES);
}
