/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The positions of fields in the headers of a RoCEv2 packet: Ethernet (IEEE 802.3, 802.1Q), IPv4
 * (RFC 791), IPv6 (RFC 8200), UDP (RFC 768) and the base transport header (BTH; IBTA vol. 1, 9.2).
 * Positions are in bytes from the start of the header that the name says.
 */
#ifndef INA_COMMON_HEADERS_H
#define INA_COMMON_HEADERS_H

#include <stdint.h>

enum {
	PACKET_MAC_BYTES = 6,
	PACKET_SOURCE_MAC_AT = 6,
	PACKET_ETHERTYPE_AT = 12, /* 16 after a VLAN tag */
	PACKET_VLAN_BYTES = 4,
	PACKET_VLAN_ID_MASK = 0x0FFF, /* of a tag's control information, above it is the priority */
	PACKET_ETHERNET_BYTES = 14,
	PACKET_ETHERTYPE_VLAN = 0x8100,
	PACKET_ETHERTYPE_IPV4 = 0x0800,
	PACKET_ETHERTYPE_IPV6 = 0x86DD,

	PACKET_IPV4_TOS_AT = 1,
	PACKET_IPV4_LENGTH_AT = 2,
	PACKET_IPV4_FRAGMENT_AT = 6,
	PACKET_IPV4_TTL_AT = 8,
	PACKET_IPV4_PROTOCOL_AT = 9,
	PACKET_IPV4_CHECKSUM_AT = 10,
	PACKET_IPV4_SOURCE_AT = 12,
	PACKET_IPV4_DESTINATION_AT = 16,
	PACKET_IPV4_BYTES = 20,
	PACKET_IPV4_WITHOUT_OPTIONS = 0x45, /* the header's first byte */
	PACKET_PROTOCOL_UDP = 17,

	PACKET_IPV6_CLASS_AT = 1, /* the class's lower half is in this byte's upper half */
	PACKET_IPV6_LENGTH_AT = 4,
	PACKET_IPV6_NEXT_AT = 6,
	PACKET_IPV6_HOPS_AT = 7,
	PACKET_IPV6_SOURCE_AT = 8,
	PACKET_IPV6_BYTES = 40,

	/* Congestion notification (RFC 3168): the lowest bits of IPv4's TOS and of IPv6's class. */
	PACKET_ECN_BITS = 2,
	PACKET_ECN_MASK = 0x03,
	PACKET_ECN_CE = 0x03,
	PACKET_IPV6_ECN_SHIFT = 4, /* in the byte at PACKET_IPV6_CLASS_AT */

	PACKET_UDP_SPORT_AT = 0,
	PACKET_UDP_DPORT_AT = 2,
	PACKET_UDP_LENGTH_AT = 4,
	PACKET_UDP_CHECKSUM_AT = 6,
	PACKET_UDP_BYTES = 8,

	PACKET_BTH_PAD_AT = 1, /* the mask below selects the pad count in this byte */
	PACKET_BTH_PAD_MASK = 0x30,
	PACKET_BTH_PKEY_AT = 2,
	PACKET_BTH_RESV8A_AT = 4,
	PACKET_BTH_QPN_AT = 5,
	PACKET_BTH_ACK_AT = 8, /* the ack request is the highest bit of this byte */
	PACKET_BTH_PSN_AT = 9,
	PACKET_BTH_BYTES = 12,
};

/* BTH opcodes (IBTA vol. 1, table 35): three bits of service, 0 for RC, then the operation. */
enum {
	PACKET_SERVICE_MASK = 0xE0,
	PACKET_SEND_FIRST = 0x00,
	PACKET_SEND_MIDDLE = 0x01,
	PACKET_SEND_LAST = 0x02,
	PACKET_SEND_ONLY = 0x04,
	PACKET_SEND_ONLY_IMMEDIATE = 0x05, /* the last of the SEND opcodes */
	PACKET_READ_RESPONSE_FIRST = 0x0D, /* the first of the response opcodes ... */
	PACKET_ACK = 0x11,
	PACKET_ATOMIC_ACK = 0x12, /* ... and the last */
};

static inline uint16_t packet_be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static inline void packet_put_be16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

#endif
