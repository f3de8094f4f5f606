/* SPDX-License-Identifier: Apache-2.0 */
/* The iCRC against a CRC-32 that goes bit by bit over masks of its own, and against rdma_rxe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frames.h"
#include "icrc.h"
#include "packet.h"

/* The polynomial of IEEE 802.3, reflected; one bit at a time. */
static uint32_t crc_bits(uint32_t crc, uint8_t byte)
{
	crc ^= byte;
	for (int bit = 0; bit < 8; bit++)
		crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
	return crc;
}

/* Annex A17: eight bytes of ones, then IP to the end, ones where routers may write. */
static uint32_t icrc_bits(const uint8_t *frame, size_t length)
{
	uint32_t crc = 0xFFFFFFFF;

	for (int i = 0; i < 8; i++)
		crc = crc_bits(crc, 0xFF);
	for (size_t at = 14; at < length - 4; at++) {
		bool variant = at == 15 || at == 22 || at == 24 || at == 25 || at == 40 ||
		               at == 41 || at == 46;
		crc = crc_bits(crc, variant ? 0xFF : frame[at]);
	}
	return ~crc;
}

static uint32_t received_icrc(const struct frame *frame)
{
	const uint8_t *at = frame->bytes + frame->length - 4;

	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t model_icrc(const struct frame *frame)
{
	return icrc_of_packet(frame->bytes, frame->bytes + FRAME_HEADER_BYTES,
	                      (unsigned)(frame->length - FRAME_HEADER_BYTES - 4));
}

static void test_random_packets(void **state)
{
	uint8_t payload[PACKET_PAYLOAD_BYTES];
	unsigned seed = 7;

	(void)state;
	for (unsigned round = 0; round < 64; round++) {
		for (size_t i = 0; i < sizeof(payload); i++)
			payload[i] = (uint8_t)(rand_r(&seed) >> 8);
		struct frame frame;
		frame_make(&frame, &(struct frame_spec){
		                           .rank = round % 8,
		                           .rank_count = 8,
		                           .destination_qpn = (uint32_t)rand_r(&seed) & 0xFFFFFF,
		                           .psn = (uint32_t)rand_r(&seed) & 0xFFFFFF,
		                           .opcode = PACKET_SEND_MIDDLE,
		                           .tos = INA_WIRE_TRAFFIC_CLASS,
		                           .payload = payload,
		                           .payload_bytes = 16u * (round * 4 + 4),
		                   });
		uint32_t want = icrc_bits(frame.bytes, frame.length);

		assert_int_equal(model_icrc(&frame), want);
		assert_int_equal(received_icrc(&frame), want);
	}
}

/* What routers change leaves the iCRC valid; anything else does not. */
static void test_masks(void **state)
{
	static const uint8_t zeros[64];
	struct frame frame;

	(void)state;
	frame_make(&frame, &(struct frame_spec){.rank_count = 2,
	                                        .opcode = PACKET_SEND_ONLY,
	                                        .payload = zeros,
	                                        .payload_bytes = sizeof(zeros)});
	uint32_t want = received_icrc(&frame);
	for (size_t at = 14; at < frame.length - 4; at++) {
		struct frame changed = frame;
		bool variant = at == 15 || at == 22 || at == 24 || at == 25 || at == 40 ||
		               at == 41 || at == 46;

		changed.bytes[at] ^= 0x01;
		assert_int_equal(model_icrc(&changed) == want, variant);
	}
}

/* A packet that Linux 6.1's rdma_rxe sent, with its own iCRC. */
static void test_rxe_packet(void **state)
{
	static const uint8_t captured[] = {
#include "rxe_packet.inc"
	};
	struct frame frame = {.length = sizeof(captured)};

	(void)state;
	memcpy(frame.bytes, captured, sizeof(captured));
	assert_int_equal(model_icrc(&frame), received_icrc(&frame));
	struct packet packet;
	packet_parse(&packet, frame.bytes, frame.length);
	assert_true(packet.candidate);
	assert_false(packet.wrong_length);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_random_packets),
	        cmocka_unit_test(test_masks),
	        cmocka_unit_test(test_rxe_packet),
	};
	return cmocka_run_group_tests_name("icrc", tests, NULL, NULL);
}
