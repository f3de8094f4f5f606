/* SPDX-License-Identifier: Apache-2.0 */
/* Writes each header in the layout of its standard. */
#include "frames.h"

#include <string.h>
#include <zlib.h>

static void put_be(uint8_t *at, unsigned bytes, uint32_t value)
{
	for (; bytes > 0; value >>= 8)
		at[--bytes] = (uint8_t)value;
}

uint32_t frame_number(const uint8_t *at, unsigned bytes)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | at[i];
	return value;
}

static void put_mac(uint8_t *at, unsigned rank)
{
	memcpy(at, (const uint8_t[6]){2, 0, 0, 0, 0, (uint8_t)(rank + 1)}, 6);
}

static void put_ipv4_address(uint8_t *at, unsigned rank)
{
	memcpy(at, (const uint8_t[4]){192, 0, 2, (uint8_t)(rank + 1)}, 4);
}

static void put_ipv6_address(uint8_t *at, unsigned rank)
{
	static const uint8_t prefix[8] = {0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0};

	memcpy(at, prefix, 8);
	memset(at + 8, (int)rank + 1, 8);
}

const struct frame_form frame_forms[4] = {
        {.ipv6 = false, .vlan = false},
        {.ipv6 = false, .vlan = true},
        {.ipv6 = true, .vlan = false},
        {.ipv6 = true, .vlan = true},
};

unsigned frame_ip_at(struct frame_form form)
{
	return form.vlan ? 18 : 14;
}

unsigned frame_udp_at(struct frame_form form)
{
	return frame_ip_at(form) + (form.ipv6 ? 40 : 20);
}

unsigned frame_bth_at(struct frame_form form)
{
	return frame_udp_at(form) + 8;
}

unsigned frame_payload_at(struct frame_form form)
{
	return frame_bth_at(form) + 12;
}

struct frame_form frame_form_of(const uint8_t *bytes)
{
	struct frame_form form = {.vlan = frame_number(bytes + 12, 2) == 0x8100};

	form.ipv6 = frame_number(bytes + frame_ip_at(form) - 2, 2) == 0x86DD;
	return form;
}

uint16_t frame_ip_sum(const uint8_t *bytes)
{
	const uint8_t *ip = bytes + frame_ip_at(frame_form_of(bytes));
	uint32_t sum = 0;

	for (unsigned at = 0; at < 20; at += 2)
		sum += frame_number(ip + at, 2);
	while (sum >> 16)
		sum = (sum & 0xFFFF) + (sum >> 16);
	return (uint16_t)sum;
}

/* Annex A17.3.3: over eight bytes of ones and the packet from the IP header on, with ones in all
 * bits that may change on the way. */
static uint32_t icrc_of(const uint8_t *bytes, size_t length)
{
	struct frame_form form = frame_form_of(bytes);
	unsigned ip_at = frame_ip_at(form), payload_at = frame_payload_at(form);
	uint8_t head[8 + 40 + 8 + 12], *ip = head + 8, *udp = ip + (form.ipv6 ? 40 : 20);

	memset(head, 0xFF, 8);
	memcpy(ip, bytes + ip_at, payload_at - ip_at);
	if (form.ipv6) {
		ip[0] |= 0x0F; /* traffic class, flow label */
		ip[1] = ip[2] = ip[3] = 0xFF;
		ip[7] = 0xFF; /* hop limit */
	} else {
		ip[1] = 0xFF;           /* TOS */
		ip[8] = 0xFF;           /* TTL */
		ip[10] = ip[11] = 0xFF; /* checksum */
	}
	udp[6] = udp[7] = 0xFF; /* checksum */
	udp[8 + 4] = 0xFF;      /* BTH resv8a */
	uLong crc = crc32(0, head, 8 + payload_at - ip_at);
	return (uint32_t)crc32(crc, bytes + payload_at, (uInt)(length - payload_at - 4));
}

bool frame_is_intact(const uint8_t *bytes, size_t length)
{
	uint32_t icrc = icrc_of(bytes, length);

	return memcmp(bytes + length - 4, &icrc, 4) == 0;
}

static void seal(uint8_t *bytes, size_t length)
{
	struct frame_form form = frame_form_of(bytes);
	uint8_t *checksum = bytes + frame_ip_at(form) + 10;

	if (!form.ipv6) {
		put_be(checksum, 2, 0);
		put_be(checksum, 2, (uint16_t)~frame_ip_sum(bytes));
	}
	uint32_t icrc = icrc_of(bytes, length);
	memcpy(bytes + length - 4, &icrc, 4);
}

void frame_seal(struct roce_frame *frame)
{
	seal(frame->bytes, frame->length);
}

void frame_ask_for_ack(struct roce_frame *frame)
{
	frame->bytes[frame_bth_at(frame_form_of(frame->bytes)) + 8] |= 0x80;
	frame_seal(frame);
}

static void put_ipv4(uint8_t *ip, const struct frame_spec *spec, unsigned udp_length)
{
	ip[0] = 0x45;
	ip[1] = spec->tos;
	put_be(ip + 2, 2, 20 + udp_length);
	put_be(ip + 4, 2, spec->psn); /* identification: any */
	put_be(ip + 6, 2, 0x4000);    /* don't fragment */
	ip[8] = 64;
	ip[9] = 17;
	put_ipv4_address(ip + 12, spec->source);
	put_ipv4_address(ip + 16, spec->destination);
}

static void put_ipv6(uint8_t *ip, const struct frame_spec *spec, unsigned udp_length)
{
	put_be(ip, 4, 6u << 28 | (uint32_t)spec->tos << 20 | spec->flow_label);
	put_be(ip + 4, 2, udp_length);
	ip[6] = 17;
	ip[7] = 64;
	put_ipv6_address(ip + 8, spec->source);
	put_ipv6_address(ip + 24, spec->destination);
}

size_t frame_write(uint8_t *b, const struct frame_spec *spec)
{
	unsigned ip_at = frame_ip_at(spec->form), payload_at = frame_payload_at(spec->form);
	uint8_t *udp = b + frame_udp_at(spec->form), *bth = b + frame_bth_at(spec->form);
	unsigned udp_length = (unsigned)(8 + 12 + spec->payload_bytes + 4);
	size_t length = payload_at + spec->payload_bytes + 4;

	memset(b, 0, payload_at);
	put_mac(b, spec->destination);
	put_mac(b + 6, spec->source);
	if (spec->form.vlan) {
		put_be(b + 12, 2, 0x8100);
		put_be(b + 14, 2, spec->vlan);
	}
	put_be(b + ip_at - 2, 2, spec->form.ipv6 ? 0x86DD : 0x0800);
	(spec->form.ipv6 ? put_ipv6 : put_ipv4)(b + ip_at, spec, udp_length);
	put_be(udp, 2, 49152 + spec->source);
	put_be(udp + 2, 2, 4791);
	put_be(udp + 4, 2, udp_length);
	bth[0] = spec->opcode;
	bth[1] = 0x40;              /* migration state, no padding */
	put_be(bth + 2, 2, 0xFFFF); /* partition key */
	put_be(bth + 5, 3, spec->destination_qpn);
	put_be(bth + 8, 4, (uint32_t)spec->asks_for_ack << 31 | (spec->psn & 0xFFFFFF));
	memcpy(b + payload_at, spec->payload, spec->payload_bytes);
	seal(b, length);
	return length;
}

void frame_make(struct roce_frame *frame, const struct frame_spec *spec)
{
	frame->length = frame_write(frame->bytes, spec);
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
