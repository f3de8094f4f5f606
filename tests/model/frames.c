/* SPDX-License-Identifier: Apache-2.0 */
/* Each header is written as its standard draws it. */
#include "frames.h"

#include <string.h>
#include <zlib.h>

static void put_be16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put_be24(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 16);
	put_be16(at + 1, value & 0xFFFF);
}

static void put_mac(uint8_t *at, unsigned rank)
{
	memcpy(at, (const uint8_t[6]){2, 0, 0, 0, 0, (uint8_t)(rank + 1)}, 6);
}

static void put_ip_address(uint8_t *at, unsigned rank)
{
	memcpy(at, (const uint8_t[4]){192, 0, 2, (uint8_t)(rank + 1)}, 4);
}

uint16_t frame_ip_sum(const struct frame *frame)
{
	uint32_t sum = 0;

	for (unsigned at = 14; at < 34; at += 2)
		sum += (uint32_t)frame->bytes[at] << 8 | frame->bytes[at + 1];
	while (sum >> 16)
		sum = (sum & 0xFFFF) + (sum >> 16);
	return (uint16_t)sum;
}

uint32_t frame_icrc(const struct frame *frame)
{
	static const uint8_t ones[8] = {255, 255, 255, 255, 255, 255, 255, 255};
	struct frame masked = *frame;

	masked.bytes[15] = 0xFF;                    /* TOS */
	masked.bytes[22] = 0xFF;                    /* TTL */
	masked.bytes[24] = masked.bytes[25] = 0xFF; /* IP checksum */
	masked.bytes[40] = masked.bytes[41] = 0xFF; /* UDP checksum */
	masked.bytes[46] = 0xFF;                    /* BTH resv8a */
	uLong crc = crc32(0, ones, sizeof(ones));
	return (uint32_t)crc32(crc, masked.bytes + 14, (uInt)(masked.length - 14 - 4));
}

void frame_seal(struct frame *frame)
{
	put_be16(frame->bytes + 24, 0);
	put_be16(frame->bytes + 24, (uint16_t)~frame_ip_sum(frame));
	uint32_t icrc = frame_icrc(frame);
	memcpy(frame->bytes + frame->length - 4, &icrc, 4);
}

void frame_make(struct frame *frame, const struct frame_spec *spec)
{
	uint8_t *b = frame->bytes;
	unsigned udp_length = (unsigned)(8 + 12 + spec->payload_bytes + 4);
	unsigned successor = (spec->rank + 1) % spec->rank_count;

	memset(b, 0, FRAME_HEADER_BYTES);
	frame->length = FRAME_HEADER_BYTES + spec->payload_bytes + 4;
	put_mac(b, successor);
	put_mac(b + 6, spec->rank);
	put_be16(b + 12, 0x0800);

	b[14] = 0x45;
	b[15] = spec->tos;
	put_be16(b + 16, 20 + udp_length);
	put_be16(b + 18, spec->psn & 0xFFFF); /* identification: any */
	put_be16(b + 20, 0x4000);             /* don't fragment */
	b[22] = 64;
	b[23] = 17;
	put_ip_address(b + 26, spec->rank);
	put_ip_address(b + 30, successor);

	put_be16(b + 34, 49152 + spec->rank);
	put_be16(b + 36, 4791);
	put_be16(b + 38, udp_length);

	b[42] = spec->opcode;
	b[43] = 0x40;             /* migration state, no padding */
	put_be16(b + 44, 0xFFFF); /* partition key */
	put_be24(b + 47, spec->destination_qpn);
	put_be24(b + 51, spec->psn);

	memcpy(b + FRAME_HEADER_BYTES, spec->payload, spec->payload_bytes);
	frame_seal(frame);
}

size_t message_make(uint8_t *message, const struct ina_wire_header *header, const void *elements,
                    uint32_t rank)
{
	size_t padded = (header->length_bytes + 15u) / 16 * 16;
	struct ina_wire_trailer trailer = {
	        .contributors = 1,
	        .message_number = header->message_number,
	        .rank = rank,
	};

	memcpy(message, header, 32);
	memset(message + 32, 0, padded);
	if (header->length_bytes)
		memcpy(message + 32, elements, header->length_bytes);
	memcpy(message + 32 + padded, &trailer, 16);
	return 32 + padded + 16;
}
