/* SPDX-License-Identifier: Apache-2.0 */
/* A switch's parser: it reads only the header fields that the switch's decisions need. */
#include "roce.h"

#include <string.h>

#include "common/headers.h"
#include "wire/ina_wire.h"

/* The offsets of headers; all 0 if the frame is not RoCEv2 in a supported form. */
struct layout {
	unsigned ip_at;
	unsigned bth_at;
	bool is_ipv6;
};

static struct layout lay_out(const struct frame *frame)
{
	const uint8_t *bytes = frame->bytes;
	struct layout layout = {.ip_at = PACKET_ETHERNET_BYTES};

	if (frame->length <
	    PACKET_ETHERNET_BYTES + PACKET_IPV4_BYTES + PACKET_UDP_BYTES + PACKET_BTH_BYTES)
		return (struct layout){0};
	if (packet_be16(bytes + PACKET_ETHERTYPE_AT) == PACKET_ETHERTYPE_VLAN)
		layout.ip_at += PACKET_VLAN_BYTES;
	const uint8_t *ip = bytes + layout.ip_at;
	unsigned ethertype = packet_be16(ip - 2);

	layout.is_ipv6 = ethertype == PACKET_ETHERTYPE_IPV6;
	if (layout.is_ipv6
	            ? ip[0] >> 4 != 6 || ip[PACKET_IPV6_NEXT_AT] != PACKET_PROTOCOL_UDP
	            : ethertype != PACKET_ETHERTYPE_IPV4 || ip[0] != PACKET_IPV4_WITHOUT_OPTIONS ||
	                      ip[PACKET_IPV4_PROTOCOL_AT] != PACKET_PROTOCOL_UDP)
		return (struct layout){0};
	layout.bth_at = layout.ip_at + (layout.is_ipv6 ? PACKET_IPV6_BYTES : PACKET_IPV4_BYTES) +
	                PACKET_UDP_BYTES;
	if (frame->length < layout.bth_at + PACKET_BTH_BYTES ||
	    packet_be16(bytes + layout.bth_at - PACKET_UDP_BYTES + PACKET_UDP_DPORT_AT) !=
	            INA_WIRE_UDP_PORT)
		return (struct layout){0};
	return layout;
}

static uint8_t opcode_of(const struct frame *frame)
{
	return frame->bytes[lay_out(frame).bth_at];
}

bool roce_is_rc(const struct frame *frame)
{
	struct layout layout = lay_out(frame);

	return layout.bth_at && (frame->bytes[layout.bth_at] & PACKET_SERVICE_MASK) == 0;
}

bool roce_is_send(const struct frame *frame)
{
	return opcode_of(frame) <= PACKET_SEND_ONLY_IMMEDIATE;
}

bool roce_is_answer(const struct frame *frame)
{
	uint8_t opcode = opcode_of(frame);

	return opcode >= PACKET_READ_RESPONSE_FIRST && opcode <= PACKET_ATOMIC_ACK;
}

bool roce_is_marked(const struct frame *frame)
{
	struct layout layout = lay_out(frame);
	const uint8_t *ip = frame->bytes + layout.ip_at;
	/* IPv6's traffic class follows the 4-bit version, so it straddles two bytes. */
	unsigned traffic_class =
	        layout.is_ipv6 ? (packet_be16(ip) >> 4) & 0xFF : ip[PACKET_IPV4_TOS_AT];

	return traffic_class >> PACKET_ECN_BITS == INA_WIRE_TRAFFIC_CLASS >> PACKET_ECN_BITS;
}

bool roce_is_join(const struct frame *frame)
{
	const unsigned at = lay_out(frame).bth_at + PACKET_BTH_BYTES;
	struct ina_wire_header header;

	if (!roce_is_rc(frame) || !roce_is_marked(frame) || opcode_of(frame) != PACKET_SEND_ONLY ||
	    frame->length < at + sizeof(header))
		return false;
	memcpy(&header, frame->bytes + at, sizeof(header));
	return header.magic == INA_WIRE_MAGIC && header.version == INA_WIRE_VERSION &&
	       header.type == INA_WIRE_JOIN;
}

unsigned roce_source_port(const struct frame *frame)
{
	return packet_be16(frame->bytes + lay_out(frame).bth_at - PACKET_UDP_BYTES);
}

bool roce_mark_congestion(struct frame *frame)
{
	struct layout layout = lay_out(frame);
	uint8_t *ip = frame->bytes + layout.ip_at;
	const unsigned shift = layout.is_ipv6 ? PACKET_IPV6_ECN_SHIFT : 0;
	const unsigned codepoint = ip[PACKET_IPV4_TOS_AT] >> shift & PACKET_ECN_MASK;

	if (!layout.bth_at || codepoint == 0) /* 0: the sender does not support ECN */
		return false;
	ip[PACKET_IPV4_TOS_AT] |= (uint8_t)(PACKET_ECN_CE << shift);
	if (!layout.is_ipv6) {
		unsigned sum = packet_be16(ip + PACKET_IPV4_CHECKSUM_AT) + codepoint + 0xFFFF -
		               PACKET_ECN_CE;

		sum = (sum & 0xFFFF) + (sum >> 16);
		packet_put_be16(ip + PACKET_IPV4_CHECKSUM_AT, sum);
	}
	return true;
}
