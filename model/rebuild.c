/* SPDX-License-Identifier: Apache-2.0 */
/* Marking updates the IP checksum by the difference only, as a router does (RFC 1624). */
#include "rebuild.h"

#include <string.h>

#include "icrc.h"

static unsigned ecn_of(const struct packet_header *header)
{
	const uint8_t *ip = header->bytes + header->ip_at;
	unsigned ecn = header->is_ipv6 ? ip[PACKET_IPV6_CLASS_AT] >> PACKET_IPV6_ECN_SHIFT
	                               : ip[PACKET_IPV4_TOS_AT];

	return ecn & PACKET_ECN_MASK;
}

bool rebuild_is_marked(const struct packet_header *header)
{
	return ecn_of(header) == PACKET_ECN_CE;
}

bool rebuild_may_be_marked(const struct packet_header *header)
{
	return ecn_of(header) != 0 && !rebuild_is_marked(header);
}

/* HC' = ~(~HC + ~m + m'), RFC 1624, equation 3, in one's complement. */
static uint16_t updated_checksum(uint16_t checksum, uint16_t was, uint16_t is)
{
	uint32_t sum = (uint16_t)~checksum + (uint32_t)(uint16_t)~was + is;

	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	return (uint16_t)~sum;
}

static void mark_ipv4(uint8_t *ip)
{
	uint16_t was = packet_be16(ip);
	uint16_t checksum = packet_be16(ip + PACKET_IPV4_CHECKSUM_AT);

	ip[PACKET_IPV4_TOS_AT] |= PACKET_ECN_CE;
	checksum = updated_checksum(checksum, was, packet_be16(ip));
	packet_put_be16(ip + PACKET_IPV4_CHECKSUM_AT, checksum);
}

unsigned rebuild_frame(uint8_t *payload, const struct packet_header *header, unsigned payload_bytes,
                       uint32_t payload_crc, bool mark)
{
	uint8_t *frame = payload - header->length_bytes;
	uint8_t *ip = frame + header->ip_at;

	memcpy(frame, header->bytes, header->length_bytes);
	/*
	 * RoCEv2 permits UDP checksum 0, and the old checksum would be wrong for the new payload.
	 */
	memset(frame + header->udp_at + PACKET_UDP_CHECKSUM_AT, 0, 2);
	if (mark && header->is_ipv6)
		ip[PACKET_IPV6_CLASS_AT] |= PACKET_ECN_CE << PACKET_IPV6_ECN_SHIFT;
	else if (mark)
		mark_ipv4(ip);
	/* The iCRC covers none of the bytes that were changed here. */
	uint32_t icrc = icrc_of_packet(header, payload_crc, payload_bytes);
	memcpy(payload + payload_bytes, &icrc, sizeof(icrc));
	return header->length_bytes + payload_bytes + PACKET_ICRC_BYTES;
}
