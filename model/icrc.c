/* SPDX-License-Identifier: Apache-2.0 */
/* Masks a copy of the headers, and lets libdeflate run over it and over the payload. */
#include "icrc.h"

#include <libdeflate.h>
#include <string.h>

#include "packet.h"

enum {
	PSEUDO_LRH_BYTES = 8,
	MASKED_BYTES = PSEUDO_LRH_BYTES + PACKET_HEADER_BYTES - PACKET_IP_AT,
	BTH_RESV8A_AT = PACKET_BTH_AT + 4,
};

/* Where a byte of the frame lies in the masked copy. */
static unsigned masked_at(unsigned frame_at)
{
	return PSEUDO_LRH_BYTES + frame_at - PACKET_IP_AT;
}

uint32_t icrc_of_packet(const uint8_t *header, const uint8_t *payload, unsigned payload_bytes)
{
	uint8_t masked[MASKED_BYTES];

	memset(masked, 0xFF, PSEUDO_LRH_BYTES);
	memcpy(masked + PSEUDO_LRH_BYTES, header + PACKET_IP_AT,
	       PACKET_HEADER_BYTES - PACKET_IP_AT);
	masked[masked_at(PACKET_IP_TOS_AT)] = 0xFF;
	masked[masked_at(PACKET_IP_TTL_AT)] = 0xFF;
	memset(masked + masked_at(PACKET_IP_CHECKSUM_AT), 0xFF, 2);
	memset(masked + masked_at(PACKET_UDP_CHECKSUM_AT), 0xFF, 2);
	masked[masked_at(BTH_RESV8A_AT)] = 0xFF;

	uint32_t crc = libdeflate_crc32(0, masked, sizeof(masked));
	return libdeflate_crc32(crc, payload, payload_bytes);
}
