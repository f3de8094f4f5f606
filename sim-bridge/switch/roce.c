/* SPDX-License-Identifier: Apache-2.0 */
/* A switch's parser: as little of the headers as its decisions need. */
#include "roce.h"

#include "wire/ina_wire.h"

enum {
	ETHERTYPE_AT = 12,
	VLAN_BYTES = 4,
	ETHERNET_BYTES = 14,
	ETHERTYPE_VLAN = 0x8100, /* IEEE 802.1Q */
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86DD,
	PROTOCOL_UDP = 17,
	IPV4_WITHOUT_OPTIONS = 0x45,
	IPV4_TOS_AT = 1,
	IPV4_PROTOCOL_AT = 9,
	IPV4_CHECKSUM_AT = 10,
	IPV4_BYTES = 20,
	IPV6_VERSION = 6,
	IPV6_NEXT_HEADER_AT = 6,
	IPV6_BYTES = 40,
	UDP_DPORT_AT = 2,
	UDP_BYTES = 8,
	BTH_BYTES = 12,
	ECN_BITS = 2,
	ECN_MASK = 3,
	ECN_NOT_CAPABLE = 0,
	ECN_CONGESTED = 3,
	IPV6_ECN_SHIFT = 4, /* in its second byte */
	/* IBTA vol. 1, table 35: three bits of service (0: RC), then the operation. */
	SERVICE_MASK = 0xE0,
	SEND_ONLY_WITH_IMMEDIATE = 0x05,
	READ_RESPONSE_FIRST = 0x0D,
	ATOMIC_ACKNOWLEDGE = 0x12,
};

static unsigned be16(const uint8_t *bytes)
{
	return (unsigned)bytes[0] << 8 | bytes[1];
}

/* Where the headers begin; all 0 where the frame is not RoCEv2 of a form that is known here. */
struct layout {
	unsigned ip_at;
	unsigned bth_at;
	bool is_ipv6;
};

static struct layout lay_out(const struct frame *frame)
{
	const uint8_t *bytes = frame->bytes;
	struct layout layout = {.ip_at = ETHERNET_BYTES};

	if (frame->length < ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES + BTH_BYTES)
		return (struct layout){0};
	if (be16(bytes + ETHERTYPE_AT) == ETHERTYPE_VLAN)
		layout.ip_at += VLAN_BYTES;
	const uint8_t *ip = bytes + layout.ip_at;
	unsigned ethertype = be16(ip - 2);

	layout.is_ipv6 = ethertype == ETHERTYPE_IPV6;
	if (layout.is_ipv6 ? ip[0] >> 4 != IPV6_VERSION || ip[IPV6_NEXT_HEADER_AT] != PROTOCOL_UDP
	                   : ethertype != ETHERTYPE_IPV4 || ip[0] != IPV4_WITHOUT_OPTIONS ||
	                             ip[IPV4_PROTOCOL_AT] != PROTOCOL_UDP)
		return (struct layout){0};
	layout.bth_at = layout.ip_at + (layout.is_ipv6 ? IPV6_BYTES : IPV4_BYTES) + UDP_BYTES;
	if (frame->length < layout.bth_at + BTH_BYTES ||
	    be16(bytes + layout.bth_at - UDP_BYTES + UDP_DPORT_AT) != INA_WIRE_UDP_PORT)
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

	return layout.bth_at && (frame->bytes[layout.bth_at] & SERVICE_MASK) == 0;
}

bool roce_is_send(const struct frame *frame)
{
	return opcode_of(frame) <= SEND_ONLY_WITH_IMMEDIATE;
}

bool roce_is_answer(const struct frame *frame)
{
	uint8_t opcode = opcode_of(frame);

	return opcode >= READ_RESPONSE_FIRST && opcode <= ATOMIC_ACKNOWLEDGE;
}

bool roce_is_marked(const struct frame *frame)
{
	struct layout layout = lay_out(frame);
	const uint8_t *ip = frame->bytes + layout.ip_at;
	/* IPv6's traffic class lies across two bytes, behind the version. */
	unsigned traffic_class = layout.is_ipv6 ? (be16(ip) >> 4) & 0xFF : ip[IPV4_TOS_AT];

	return traffic_class >> ECN_BITS == INA_WIRE_TRAFFIC_CLASS >> ECN_BITS;
}

bool roce_mark_congestion(struct frame *frame)
{
	struct layout layout = lay_out(frame);
	uint8_t *ip = frame->bytes + layout.ip_at;
	const unsigned shift = layout.is_ipv6 ? IPV6_ECN_SHIFT : 0;
	const unsigned codepoint = ip[IPV4_TOS_AT] >> shift & ECN_MASK;

	if (!layout.bth_at || codepoint == ECN_NOT_CAPABLE)
		return false;
	ip[IPV4_TOS_AT] |= (uint8_t)(ECN_CONGESTED << shift);
	if (!layout.is_ipv6) {
		unsigned sum = be16(ip + IPV4_CHECKSUM_AT) + codepoint + 0xFFFF - ECN_CONGESTED;

		sum = (sum & 0xFFFF) + (sum >> 16);
		ip[IPV4_CHECKSUM_AT] = (uint8_t)(sum >> 8);
		ip[IPV4_CHECKSUM_AT + 1] = (uint8_t)sum;
	}
	return true;
}
