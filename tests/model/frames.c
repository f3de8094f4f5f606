/* SPDX-License-Identifier: Apache-2.0 */
/* Writes each header in the layout of its standard. */
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

static unsigned be16(const uint8_t *bytes)
{
	return (unsigned)bytes[0] << 8 | bytes[1];
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

struct frame_form frame_form_of(const struct frame *frame)
{
	struct frame_form form = {.vlan = be16(frame->bytes + 12) == 0x8100};

	form.ipv6 = be16(frame->bytes + (form.vlan ? 16 : 12)) == 0x86DD;
	return form;
}

void frame_ask_for_ack(struct frame *frame)
{
	frame->bytes[frame_bth_at(frame_form_of(frame)) + 8] |= 0x80;
	frame_seal(frame);
}

uint16_t frame_ip_sum(const struct frame *frame)
{
	unsigned ip = frame_ip_at(frame_form_of(frame));
	uint32_t sum = 0;

	for (unsigned at = ip; at < ip + 20; at += 2)
		sum += be16(frame->bytes + at);
	while (sum >> 16)
		sum = (sum & 0xFFFF) + (sum >> 16);
	return (uint16_t)sum;
}

struct frame frame_with_ones(const struct frame *frame)
{
	struct frame_form form = frame_form_of(frame);
	struct frame masked = *frame;
	uint8_t *ip = masked.bytes + frame_ip_at(form);
	uint8_t *udp = masked.bytes + frame_udp_at(form);

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
	return masked;
}

uint32_t frame_icrc(const struct frame *frame)
{
	static const uint8_t ones[8] = {255, 255, 255, 255, 255, 255, 255, 255};
	struct frame masked = frame_with_ones(frame);
	unsigned ip = frame_ip_at(frame_form_of(frame));

	uLong crc = crc32(0, ones, sizeof(ones));
	return (uint32_t)crc32(crc, masked.bytes + ip, (uInt)(masked.length - ip - 4));
}

void frame_seal(struct frame *frame)
{
	struct frame_form form = frame_form_of(frame);
	uint8_t *checksum = frame->bytes + frame_ip_at(form) + 10;

	if (!form.ipv6) {
		put_be16(checksum, 0);
		put_be16(checksum, (uint16_t)~frame_ip_sum(frame));
	}
	uint32_t icrc = frame_icrc(frame);
	memcpy(frame->bytes + frame->length - 4, &icrc, 4);
}

static void put_ipv4(uint8_t *ip, const struct frame_spec *spec, unsigned udp_length)
{
	ip[0] = 0x45;
	ip[1] = spec->tos;
	put_be16(ip + 2, 20 + udp_length);
	put_be16(ip + 4, spec->psn & 0xFFFF); /* identification: any */
	put_be16(ip + 6, 0x4000);             /* don't fragment */
	ip[8] = 64;
	ip[9] = 17;
	put_ipv4_address(ip + 12, spec->rank);
	put_ipv4_address(ip + 16, (spec->rank + 1) % spec->rank_count);
}

static void put_ipv6(uint8_t *ip, const struct frame_spec *spec, unsigned udp_length)
{
	ip[0] = (uint8_t)(0x60 | spec->tos >> 4);
	ip[1] = (uint8_t)(spec->tos << 4 | spec->flow_label >> 16);
	put_be16(ip + 2, spec->flow_label & 0xFFFF);
	put_be16(ip + 4, udp_length);
	ip[6] = 17;
	ip[7] = 64;
	put_ipv6_address(ip + 8, spec->rank);
	put_ipv6_address(ip + 24, (spec->rank + 1) % spec->rank_count);
}

void frame_make(struct frame *frame, const struct frame_spec *spec)
{
	uint8_t *b = frame->bytes;
	unsigned ip_at = frame_ip_at(spec->form), payload_at = frame_payload_at(spec->form);
	uint8_t *udp = b + frame_udp_at(spec->form), *bth = b + frame_bth_at(spec->form);
	unsigned udp_length = (unsigned)(8 + 12 + spec->payload_bytes + 4);

	memset(b, 0, payload_at);
	frame->length = payload_at + spec->payload_bytes + 4;
	put_mac(b, (spec->rank + 1) % spec->rank_count);
	put_mac(b + 6, spec->rank);
	if (spec->form.vlan) {
		put_be16(b + 12, 0x8100);
		put_be16(b + 14, spec->vlan);
	}
	put_be16(b + ip_at - 2, spec->form.ipv6 ? 0x86DD : 0x0800);
	if (spec->form.ipv6)
		put_ipv6(b + ip_at, spec, udp_length);
	else
		put_ipv4(b + ip_at, spec, udp_length);

	put_be16(udp, 49152 + spec->rank);
	put_be16(udp + 2, 4791);
	put_be16(udp + 4, udp_length);

	bth[0] = spec->opcode;
	bth[1] = 0x40;             /* migration state, no padding */
	put_be16(bth + 2, 0xFFFF); /* partition key */
	put_be24(bth + 5, spec->destination_qpn);
	put_be24(bth + 9, spec->psn);

	memcpy(b + payload_at, spec->payload, spec->payload_bytes);
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
