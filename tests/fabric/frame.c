/* SPDX-License-Identifier: Apache-2.0 */
/* Builds IPv4 frames byte by byte, following the standards; zlib computes the iCRC. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bed.h"

enum { IP_AT = 14, UDP_AT = 34, BTH_AT = 42, PAYLOAD_AT = 54, ICRC_BYTES = 4 };

struct frame *frame_new(struct bed *bed)
{
	struct frame *frame = bed->free_frames;

	if (frame)
		bed->free_frames = frame->next_free;
	else
		frame = malloc(sizeof(*frame));
	if (!frame)
		abort();
	frame->kind = FRAME_DATA;
	frame->forged = false;
	return frame;
}

void frame_free(struct bed *bed, struct frame *frame)
{
	frame->next_free = bed->free_frames;
	bed->free_frames = frame;
}

static void put_be(uint8_t *at, unsigned bytes, uint32_t value)
{
	while (bytes > 0) {
		at[--bytes] = (uint8_t)value;
		value >>= 8;
	}
}

static uint32_t get_be(const uint8_t *at, unsigned bytes)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | at[i];
	return value;
}

/* IBTA annex A17: over the IP packet, with ones in place of the fields that may change on the
 * way. */
static uint32_t icrc(const struct frame *frame)
{
	uint8_t head[8 + PAYLOAD_AT - IP_AT];
	uint8_t *ip = head + 8;

	memset(head, 0xFF, 8);
	memcpy(ip, frame->bytes + IP_AT, PAYLOAD_AT - IP_AT);
	ip[1] = ip[8] = ip[10] = ip[11] = 0xFF;
	ip[UDP_AT - IP_AT + 6] = ip[UDP_AT - IP_AT + 7] = 0xFF;
	ip[BTH_AT - IP_AT + 4] = 0xFF;
	uLong crc = crc32(0, head, sizeof(head));
	return (uint32_t)crc32(crc, frame->bytes + PAYLOAD_AT,
	                       frame->length - PAYLOAD_AT - ICRC_BYTES);
}

void frame_fill(struct frame *frame, unsigned from, unsigned to, uint32_t qpn, uint32_t psn,
                uint8_t opcode, bool asks_for_ack, const void *payload, unsigned payload_bytes)
{
	uint8_t *b = frame->bytes, *ip = b + IP_AT, *udp = b + UDP_AT, *bth = b + BTH_AT;
	unsigned udp_length = 8 + 12 + payload_bytes + ICRC_BYTES;

	memset(b, 0, PAYLOAD_AT);
	b[0] = b[6] = 2;
	b[5] = (uint8_t)to;
	b[11] = (uint8_t)from;
	put_be(b + 12, 2, 0x0800);
	ip[0] = 0x45;
	ip[1] = INA_WIRE_TRAFFIC_CLASS;
	put_be(ip + 2, 2, 20 + udp_length);
	ip[8] = 64;
	ip[9] = 17;
	put_be(ip + 12, 4, 0x0A000001 + from);
	put_be(ip + 16, 4, 0x0A000001 + to);
	put_be(udp, 2, 49152);
	put_be(udp + 2, 2, INA_WIRE_UDP_PORT);
	put_be(udp + 4, 2, udp_length);
	bth[0] = opcode;
	put_be(bth + 2, 2, 0xFFFF);
	put_be(bth + 5, 3, qpn);
	bth[8] = asks_for_ack ? 0x80 : 0;
	put_be(bth + 9, 3, psn & 0xFFFFFF);
	memcpy(b + PAYLOAD_AT, payload, payload_bytes);
	frame->length = (uint16_t)(PAYLOAD_AT + payload_bytes + ICRC_BYTES);
	uint32_t crc = icrc(frame);
	memcpy(b + frame->length - ICRC_BYTES, &crc, ICRC_BYTES);
}

bool frame_is_intact(const struct frame *frame)
{
	uint32_t crc = icrc(frame);

	return memcmp(frame->bytes + frame->length - ICRC_BYTES, &crc, ICRC_BYTES) == 0;
}

const uint8_t *frame_payload(const struct frame *frame)
{
	return frame->bytes + PAYLOAD_AT;
}

unsigned frame_payload_bytes(const struct frame *frame)
{
	return frame->length - PAYLOAD_AT - ICRC_BYTES;
}

uint8_t frame_opcode(const struct frame *frame)
{
	return frame->bytes[BTH_AT];
}

uint32_t frame_psn(const struct frame *frame)
{
	return get_be(frame->bytes + BTH_AT + 9, 3);
}

uint32_t frame_qpn(const struct frame *frame)
{
	return get_be(frame->bytes + BTH_AT + 5, 3);
}

unsigned frame_from(const struct frame *frame)
{
	return get_be(frame->bytes + IP_AT + 12, 4) - 0x0A000001;
}

unsigned frame_to(const struct frame *frame)
{
	return get_be(frame->bytes + IP_AT + 16, 4) - 0x0A000001;
}

bool frame_asks_for_ack(const struct frame *frame)
{
	return frame->bytes[BTH_AT + 8] & 0x80;
}
