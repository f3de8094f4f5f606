/* SPDX-License-Identifier: Apache-2.0 */
#include "roce.h"

#include <string.h>

#include "common/headers.h"
#include "wire/ina_wire.h"

static enum ip_version version_of(unsigned ethertype, unsigned bytes_left)
{
	if (ethertype == PACKET_ETHERTYPE_IPV4 && bytes_left >= PACKET_IPV4_BYTES)
		return IP_V4;
	if (ethertype == PACKET_ETHERTYPE_IPV6 && bytes_left >= PACKET_IPV6_BYTES)
		return IP_V6;
	return IP_NONE;
}

/* The offset of the UDP header; 0 if the switch does not support the headers before it. */
static unsigned find_udp(const struct roce *roce, const uint8_t *ip)
{
	if (roce->ip == IP_V4)
		return ip[0] == PACKET_IPV4_WITHOUT_OPTIONS &&
		                       ip[PACKET_IPV4_PROTOCOL_AT] == PACKET_PROTOCOL_UDP
		               ? roce->ip_at + PACKET_IPV4_BYTES
		               : 0;
	return roce->ip == IP_V6 && ip[0] >> 4 == 6 &&
	                       ip[PACKET_IPV6_NEXT_AT] == PACKET_PROTOCOL_UDP
	               ? roce->ip_at + PACKET_IPV6_BYTES
	               : 0;
}

static bool is_marked(const struct roce *roce, const uint8_t *ip)
{
	/* IPv6's traffic class follows the 4-bit version, so it straddles two bytes. */
	unsigned traffic_class =
	        roce->ip == IP_V6 ? (packet_be16(ip) >> 4) & 0xFF : ip[PACKET_IPV4_TOS_AT];

	return traffic_class >> PACKET_ECN_BITS == INA_WIRE_TRAFFIC_CLASS >> PACKET_ECN_BITS;
}

static bool is_join(const uint8_t *payload, unsigned bytes)
{
	struct ina_wire_header header;

	if (bytes < sizeof(header))
		return false;
	memcpy(&header, payload, sizeof(header));
	return header.magic == INA_WIRE_MAGIC && header.version == INA_WIRE_VERSION &&
	       header.type == INA_WIRE_JOIN;
}

struct roce roce_read(const uint8_t *bytes, unsigned length)
{
	struct roce roce = {.ip_at = PACKET_ETHERNET_BYTES};
	unsigned ethertype = packet_be16(bytes + PACKET_ETHERTYPE_AT);

	if (ethertype == PACKET_ETHERTYPE_VLAN && length - roce.ip_at >= PACKET_VLAN_BYTES) {
		roce.vlan_id = packet_be16(bytes + roce.ip_at) & PACKET_VLAN_ID_MASK;
		roce.ip_at += PACKET_VLAN_BYTES;
		ethertype = packet_be16(bytes + roce.ip_at - 2);
	}
	roce.ip = version_of(ethertype, length - roce.ip_at);
	const uint8_t *ip = bytes + roce.ip_at;
	const unsigned udp_at = find_udp(&roce, ip), bth_at = udp_at + PACKET_UDP_BYTES;
	const uint8_t *udp = bytes + udp_at;

	if (!udp_at || length < bth_at + PACKET_BTH_BYTES ||
	    packet_be16(udp + PACKET_UDP_DPORT_AT) != INA_WIRE_UDP_PORT)
		return roce;
	const unsigned opcode = bytes[bth_at], payload_at = bth_at + PACKET_BTH_BYTES;

	roce.is_roce = true;
	roce.is_rc = (opcode & PACKET_SERVICE_MASK) == 0;
	if (!roce.is_rc)
		return roce;
	roce.is_send = opcode <= PACKET_SEND_ONLY_IMMEDIATE;
	roce.is_answer = opcode >= PACKET_READ_RESPONSE_FIRST && opcode <= PACKET_ATOMIC_ACK;
	roce.is_marked = is_marked(&roce, ip);
	roce.payload_at = (uint16_t)payload_at;
	if (opcode == PACKET_SEND_ONLY && is_join(bytes + payload_at, length - payload_at)) {
		roce.is_join = roce.is_marked;
		roce.lacks_mark = !roce.is_marked;
	}
	roce.source_port = packet_be16(udp + PACKET_UDP_SPORT_AT);
	return roce;
}

bool roce_mark_congestion(const struct roce *roce, uint8_t *bytes)
{
	uint8_t *ip = bytes + roce->ip_at;
	const unsigned shift = roce->ip == IP_V6 ? PACKET_IPV6_ECN_SHIFT : 0;
	const unsigned codepoint = ip[PACKET_IPV4_TOS_AT] >> shift & PACKET_ECN_MASK;

	if (!roce->is_roce || codepoint == 0) /* 0: the sender does not support ECN */
		return false;
	ip[PACKET_IPV4_TOS_AT] |= (uint8_t)(PACKET_ECN_CE << shift);
	if (roce->ip == IP_V4) {
		unsigned sum = packet_be16(ip + PACKET_IPV4_CHECKSUM_AT) + codepoint + 0xFFFF -
		               PACKET_ECN_CE;

		sum = (sum & 0xFFFF) + (sum >> 16);
		packet_put_be16(ip + PACKET_IPV4_CHECKSUM_AT, sum);
	}
	return true;
}
