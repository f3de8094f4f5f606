/* SPDX-License-Identifier: Apache-2.0 */
/* Masks a copy of the headers, and runs libdeflate's CRC over the copy and the payload. */
#include "icrc.h"

#include <libdeflate.h>
#include <string.h>

enum {
	PSEUDO_LRH_BYTES = 8,
	MASKED_BYTES_MAX =
	        PSEUDO_LRH_BYTES + PACKET_IPV6_BYTES + PACKET_UDP_BYTES + PACKET_BTH_BYTES,
};

static void mask_ipv4(uint8_t *ip)
{
	ip[PACKET_IPV4_TOS_AT] = 0xFF;
	ip[PACKET_IPV4_TTL_AT] = 0xFF;
	memset(ip + PACKET_IPV4_CHECKSUM_AT, 0xFF, 2);
}

/* Traffic class and flow label are between version and length. */
static void mask_ipv6(uint8_t *ip)
{
	ip[0] |= 0x0F;
	memset(ip + 1, 0xFF, 3);
	ip[PACKET_IPV6_HOPS_AT] = 0xFF;
}

uint32_t icrc_of_packet(const struct packet_header *header, const uint8_t *payload,
                        unsigned payload_bytes)
{
	uint8_t masked[MASKED_BYTES_MAX];
	size_t covered = header->length_bytes - header->ip_at;
	uint8_t *ip = masked + PSEUDO_LRH_BYTES;
	uint8_t *udp = ip + (header->udp_at - header->ip_at);
	uint8_t *bth = ip + (header->bth_at - header->ip_at);

	memset(masked, 0xFF, PSEUDO_LRH_BYTES);
	memcpy(ip, header->bytes + header->ip_at, covered);
	if (header->is_ipv6)
		mask_ipv6(ip);
	else
		mask_ipv4(ip);
	memset(udp + PACKET_UDP_CHECKSUM_AT, 0xFF, 2);
	bth[PACKET_BTH_RESV8A_AT] = 0xFF;

	uint32_t crc = libdeflate_crc32(0, masked, PSEUDO_LRH_BYTES + covered);
	return libdeflate_crc32(crc, payload, payload_bytes);
}

bool icrc_is_right(const struct packet *packet)
{
	uint32_t received;

	if (packet->wrong_length)
		return false;
	memcpy(&received, packet->payload + packet->payload_bytes, sizeof(received));
	return received == icrc_of_packet(&packet->header, packet->payload, packet->payload_bytes);
}
