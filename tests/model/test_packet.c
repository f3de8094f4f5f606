/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames are candidates, requests, or neither: one deviation at a time from a good one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frames.h"
#include "packet.h"

static const uint8_t zeros[PACKET_PAYLOAD_BYTES + 64];

static struct frame good_frame(uint8_t opcode, size_t payload_bytes)
{
	struct frame frame;

	frame_make(&frame, &(struct frame_spec){
	                           .rank = 2,
	                           .rank_count = 4,
	                           .destination_qpn = 0x123456,
	                           .psn = 0xABCDEF,
	                           .opcode = opcode,
	                           .payload = zeros,
	                           .payload_bytes = payload_bytes,
	                   });
	return frame;
}

static struct packet parse(const struct frame *frame)
{
	struct packet packet;

	packet_parse(&packet, frame->bytes, frame->length);
	return packet;
}

static void test_fields(void **state)
{
	(void)state;
	struct frame frame = good_frame(PACKET_SEND_MIDDLE, 1024);
	struct packet packet = parse(&frame);

	assert_true(packet.candidate);
	assert_true(packet.roce_request);
	assert_false(packet.wrong_length);
	assert_int_equal(packet.opcode, 1);
	assert_int_equal(packet.destination_qpn, 0x123456);
	assert_int_equal(packet.psn, 0xABCDEF);
	assert_int_equal(packet.payload_bytes, 1024);
	assert_memory_equal(&packet.source_ip, ((uint8_t[]){192, 0, 2, 3}), 4);
	assert_memory_equal(&packet.destination_ip, ((uint8_t[]){192, 0, 2, 4}), 4);
}

static void test_payload_sizes(void **state)
{
	(void)state;
	for (size_t bytes = 0; bytes <= PACKET_PAYLOAD_BYTES + 32; bytes++) {
		struct frame frame = good_frame(PACKET_SEND_LAST, bytes);
		struct packet packet = parse(&frame);
		bool joinable = bytes >= 16 && bytes <= 4096 && bytes % 16 == 0;

		assert_int_equal(packet.candidate, joinable);
		assert_true(packet.roce_request);
	}
}

static void test_opcodes(void **state)
{
	(void)state;
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		struct frame frame = good_frame((uint8_t)opcode, 64);
		struct packet packet = parse(&frame);
		bool send = opcode == 0 || opcode == 1 || opcode == 2 || opcode == 4;
		bool answer = opcode >= 0x0D && opcode <= 0x12; /* IBTA vol. 1, table 35 */

		assert_int_equal(packet.candidate, send);
		assert_int_equal(packet.roce_request, opcode < 0x20 && !answer);
	}
}

static void test_no_roce(void **state)
{
	static const struct {
		unsigned at;
		uint8_t value;
		const char *what;
	} deviations[] = {
	        {12, 0x86, "EtherType"},        {14, 0x46, "IP options"}, {14, 0x65, "IP version"},
	        {20, 0x60, "more fragments"},   {21, 0x01, "offset"},     {23, 6, "TCP"},
	        {36, 0x13, "destination port"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(deviations) / sizeof(deviations[0]); i++) {
		struct frame frame = good_frame(PACKET_SEND_ONLY, 64);

		frame.bytes[deviations[i].at] = deviations[i].value;
		struct packet packet = parse(&frame);
		if (packet.roce_request || packet.candidate)
			fail_msg("taken for RoCE in spite of: %s", deviations[i].what);
	}
}

static void test_lengths_that_disagree(void **state)
{
	(void)state;
	struct frame frame = good_frame(PACKET_SEND_ONLY, 64);
	frame.bytes[17] ^= 0x10; /* IP length, no longer UDP's + 20 */
	assert_false(parse(&frame).candidate);
	assert_true(parse(&frame).roce_request);

	frame = good_frame(PACKET_SEND_ONLY, 64);
	frame.length++;
	assert_true(parse(&frame).candidate);
	assert_true(parse(&frame).wrong_length);
	frame.length -= 2;
	assert_true(parse(&frame).wrong_length);
	frame.length = 64; /* one beat */
	assert_false(parse(&frame).candidate);
}

static void test_short_frames(void **state)
{
	(void)state;
	struct frame frame = good_frame(PACKET_SEND_ONLY, 64);
	for (frame.length = 0; frame.length < 65; frame.length++)
		assert_false(parse(&frame).candidate);
	frame.length = 36; /* cut before the destination port */
	assert_false(parse(&frame).roce_request);
}

static void test_well_formed(void **state)
{
	static const struct {
		uint8_t opcode;
		size_t least;
	} rules[] = {
	        {PACKET_SEND_FIRST, 32},
	        {PACKET_SEND_MIDDLE, 16},
	        {PACKET_SEND_LAST, 16},
	        {PACKET_SEND_ONLY, 48},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		for (size_t bytes = 16; bytes <= 64; bytes += 16) {
			struct frame frame = good_frame(rules[i].opcode, bytes);
			struct packet packet = parse(&frame);

			assert_int_equal(packet_is_well_formed(&packet), bytes >= rules[i].least);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_fields),
	        cmocka_unit_test(test_payload_sizes),
	        cmocka_unit_test(test_opcodes),
	        cmocka_unit_test(test_no_roce),
	        cmocka_unit_test(test_lengths_that_disagree),
	        cmocka_unit_test(test_short_frames),
	        cmocka_unit_test(test_well_formed),
	};
	return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
