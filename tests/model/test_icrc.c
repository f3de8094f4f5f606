/* SPDX-License-Identifier: Apache-2.0 */
/* The iCRC against a CRC-32 that is computed bit by bit with this file's own masks, and against
 * rdma_rxe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frames.h"
#include "model/icrc.h"
#include "model/packet.h"

/* The polynomial of IEEE 802.3, reflected; one bit at a time. */
static uint32_t crc_bits(uint32_t crc, uint8_t byte)
{
	crc ^= byte;
	for (int bit = 0; bit < 8; bit++)
		crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
	return crc;
}

/* The bits of the byte at `at` that the iCRC reads as ones (annex A17), from the frame's layout. */
static uint8_t variant_bits(struct frame_form form, size_t at)
{
	static const uint8_t ipv4[] = {1,  8,  10, 11,
	                               26, 27, 32}; /* offsets in IP, UDP and BTH
	                                             * together */
	static const uint8_t ipv6[] = {1, 2, 3, 7, 46, 47, 52};
	const uint8_t *variant = form.ipv6 ? ipv6 : ipv4;

	for (unsigned i = 0; i < sizeof(ipv4); i++)
		if (at == frame_ip_at(form) + variant[i])
			return 0xFF;
	return form.ipv6 && at == frame_ip_at(form) ? 0x0F : 0;
}

/* Annex A17: eight bytes of ones, then everything from IP to the end, with ones where routers may
 * write. */
static uint32_t icrc_bits(const uint8_t *frame, struct frame_form form, size_t length)
{
	uint32_t crc = 0xFFFFFFFF;

	for (int i = 0; i < 8; i++)
		crc = crc_bits(crc, 0xFF);
	for (size_t at = frame_ip_at(form); at < length - 4; at++)
		crc = crc_bits(crc, frame[at] | variant_bits(form, at));
	return ~crc;
}

static uint32_t received_icrc(const struct roce_frame *frame)
{
	const uint8_t *at = frame->bytes + frame->length - 4;

	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t model_icrc(const struct roce_frame *frame)
{
	struct packet packet;

	packet_parse(&packet, frame->bytes, frame->length);
	unsigned at = packet.header.length_bytes;
	unsigned payload_bytes = (unsigned)(frame->length - at - 4);
	return icrc_of_packet(&packet.header, icrc_of_payload(frame->bytes + at, payload_bytes),
	                      payload_bytes);
}

static void test_random_packets(void **state)
{
	uint8_t payload[PACKET_PAYLOAD_BYTES];
	unsigned seed = 7;

	(void)state;
	for (unsigned round = 0; round < 64; round++) {
		for (size_t i = 0; i < sizeof(payload); i++)
			payload[i] = (uint8_t)(rand_r(&seed) >> 8);
		struct roce_frame frame;
		frame_make(&frame, &(struct frame_spec){
		                           .form = frame_forms[round % 4],
		                           .vlan = (uint16_t)rand_r(&seed),
		                           .flow_label = (uint32_t)rand_r(&seed) & 0xFFFFF,
		                           .source = round % 8,
		                           .destination = (round + 1) % 8,
		                           .destination_qpn = (uint32_t)rand_r(&seed) & 0xFFFFFF,
		                           .psn = (uint32_t)rand_r(&seed) & 0xFFFFFF,
		                           .opcode = PACKET_SEND_MIDDLE,
		                           .tos = INA_WIRE_TRAFFIC_CLASS,
		                           .payload = payload,
		                           .payload_bytes = 16u * (round * 4 + 1 + round % 4),
		                   });
		uint32_t want = icrc_bits(frame.bytes, frame_forms[round % 4], frame.length);

		assert_int_equal(model_icrc(&frame), want);
		assert_int_equal(received_icrc(&frame), want);
	}
}

/* A change by a router leaves the iCRC valid; a change of any other bit does not. */
static void test_masks(void **state)
{
	static const uint8_t zeros[64];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct frame_form form = frame_forms[i];
		struct roce_frame frame;

		frame_make(&frame, &(struct frame_spec){.form = form,
		                                        .destination = 1,
		                                        .opcode = PACKET_SEND_ONLY,
		                                        .payload = zeros,
		                                        .payload_bytes = sizeof(zeros)});
		uint32_t want = received_icrc(&frame);
		for (size_t bit = 8u * frame_ip_at(form); bit < 8 * (frame.length - 4); bit++) {
			struct roce_frame changed = frame;
			uint8_t flip = (uint8_t)(1u << bit % 8);
			bool variant = variant_bits(form, bit / 8) & flip;

			changed.bytes[bit / 8] ^= flip;
			assert_int_equal(model_icrc(&changed) == want, variant);
		}
	}
}

static void check_captured(const uint8_t *captured, size_t length)
{
	struct roce_frame frame = {.length = length};

	memcpy(frame.bytes, captured, length);
	assert_int_equal(model_icrc(&frame), received_icrc(&frame));
	assert_true(frame_is_intact(frame.bytes, frame.length));
}

/* Packets that Linux 6.1's rdma_rxe sent, with its own iCRC. */
static void test_rxe_packets(void **state)
{
	static const uint8_t ipv4[] = {
#include "rxe_packet.inc"
	};
	static const uint8_t ipv6[] = {
#include "rxe_packet_ipv6.inc"
	};

	(void)state;
	check_captured(ipv4, sizeof(ipv4));
	check_captured(ipv6, sizeof(ipv6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_random_packets),
	        cmocka_unit_test(test_masks),
	        cmocka_unit_test(test_rxe_packets),
	};
	return cmocka_run_group_tests_name("icrc", tests, NULL, NULL);
}
