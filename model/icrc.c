/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks a copy of the headers, and joins its CRC with that of the payload. A CRC is a remainder of
 * polynomials over GF(2), so CRC(header, payload) = CRC(header) x^(8 payload_bytes) + CRC(payload),
 * modulo the polynomial.
 */
#include "icrc.h"

#include <assert.h>
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

/* Multiplies modulo the polynomial of Ethernet. Bit 31 is the coefficient of x^0. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (unsigned bit = 32; bit-- > 0;) {
		product ^= b & -(a >> bit & 1);
		b = b >> 1 ^ (0xEDB88320u & -(b & 1));
	}
	return product;
}

/*
 * The CRC after `bytes` further zeros: it is multiplied by x^128 for each PACKET_QUAD_BYTES.
 * Element i of the table is x^128 to the power of 2^i, each the square of the one before.
 */
static uint32_t shift(uint32_t crc, unsigned bytes)
{
	static const uint32_t x128_to_2_to[] = {0xA06A2517, 0xED627DAE, 0x88D14467,
	                                        0xD7BBFE6A, 0xEC447F11, 0x8E7EA170,
	                                        0x6427800E, 0x4D47BAE0, 0x09FE548F};
	const unsigned quads = bytes / PACKET_QUAD_BYTES;

	assert(bytes % PACKET_QUAD_BYTES == 0 && bytes <= PACKET_PAYLOAD_BYTES);
	for (unsigned i = 0; quads >> i; i++)
		if (quads >> i & 1)
			crc = multiply(x128_to_2_to[i], crc);
	return crc;
}

uint32_t icrc_of_payload(const uint8_t *payload, unsigned payload_bytes)
{
	return libdeflate_crc32(0, payload, payload_bytes);
}

static uint32_t crc_of_headers(const struct packet_header *header)
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

	return libdeflate_crc32(0, masked, PSEUDO_LRH_BYTES + covered);
}

uint32_t icrc_of_packet(const struct packet_header *header, uint32_t payload_crc,
                        unsigned payload_bytes)
{
	return shift(crc_of_headers(header), payload_bytes) ^ payload_crc;
}

bool icrc_is_right(const struct packet *packet)
{
	uint32_t received;

	if (packet->wrong_length)
		return false;
	memcpy(&received, packet->payload + packet->payload_bytes, sizeof(received));
	return received == libdeflate_crc32(crc_of_headers(&packet->header), packet->payload,
	                                    packet->payload_bytes);
}
