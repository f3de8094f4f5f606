/* SPDX-License-Identifier: Apache-2.0 */
/* Marking changes the IP checksum by the difference only, as a router does it (RFC 1624). */
#include "rebuild.h"

#include <string.h>

#include "icrc.h"
#include "packet.h"

bool rebuild_is_marked(const uint8_t *header)
{
	return (header[PACKET_IP_TOS_AT] & PACKET_ECN_MASK) == PACKET_ECN_CE;
}

/* HC' = ~(~HC + ~m + m'), RFC 1624, equation 3, in one's complement. */
static uint16_t updated_checksum(uint16_t checksum, uint16_t was, uint16_t is)
{
	uint32_t sum = (uint16_t)~checksum + (uint32_t)(uint16_t)~was + is;

	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	return (uint16_t)~sum;
}

static void mark_congestion(uint8_t *frame)
{
	uint16_t was = packet_be16(frame + PACKET_IP_AT);
	uint16_t checksum = packet_be16(frame + PACKET_IP_CHECKSUM_AT);

	frame[PACKET_IP_TOS_AT] |= PACKET_ECN_CE;
	checksum = updated_checksum(checksum, was, packet_be16(frame + PACKET_IP_AT));
	frame[PACKET_IP_CHECKSUM_AT] = (uint8_t)(checksum >> 8);
	frame[PACKET_IP_CHECKSUM_AT + 1] = (uint8_t)checksum;
}

unsigned rebuild_frame(uint8_t *frame, const uint8_t *header, unsigned payload_bytes, bool mark)
{
	uint8_t *payload = frame + PACKET_HEADER_BYTES;

	memcpy(frame, header, PACKET_HEADER_BYTES);
	/* RoCEv2 allows no UDP checksum, and that of another payload would be wrong. */
	memset(frame + PACKET_UDP_CHECKSUM_AT, 0, 2);
	if (mark)
		mark_congestion(frame);
	uint32_t icrc = icrc_of_packet(frame, payload, payload_bytes);
	memcpy(payload + payload_bytes, &icrc, sizeof(icrc));
	return PACKET_HEADER_BYTES + payload_bytes + PACKET_ICRC_BYTES;
}
