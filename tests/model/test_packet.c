/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames are candidates, requests, or neither: each case differs in one point from a good
 * frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frames.h"
#include "model/packet.h"

static const uint8_t zeros[PACKET_PAYLOAD_BYTES + 64];

static struct roce_frame good_frame_of(struct frame_form form, uint8_t opcode, size_t payload_bytes)
{
	struct roce_frame frame;

	frame_make(&frame, &(struct frame_spec){
	                           .form = form,
	                           .vlan = 0xE123,
	                           .flow_label = 0xABCDE,
	                           .tos = INA_WIRE_TRAFFIC_CLASS | 1,
	                           .source = 2,
	                           .destination = 3,
	                           .destination_qpn = 0x123456,
	                           .psn = 0xABCDEF,
	                           .opcode = opcode,
	                           .payload = zeros,
	                           .payload_bytes = payload_bytes,
	                   });
	return frame;
}

static struct roce_frame good_frame(uint8_t opcode, size_t payload_bytes)
{
	return good_frame_of(frame_forms[0], opcode, payload_bytes);
}

static struct packet parse(const struct roce_frame *frame)
{
	struct packet packet;

	packet_parse(&packet, frame->bytes, frame->length);
	return packet;
}

static void test_fields(void **state)
{
	static const uint8_t ipv6[32] = {
	        0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 3, 3, 3, 3, 3, 3, 3, 3,
	        0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4,
	};
	static const uint8_t ipv4[8] = {192, 0, 2, 3, 192, 0, 2, 4};
	static const uint8_t zeros_12[12];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct frame_form form = frame_forms[i];
		struct roce_frame frame = good_frame_of(form, PACKET_SEND_MIDDLE, 1024);
		struct packet packet = parse(&frame);
		const uint8_t *addresses = form.ipv6 ? ipv6 : ipv4;
		size_t bytes = form.ipv6 ? 16 : 4;

		assert_true(packet.candidate);
		assert_true(packet.marked_request);
		assert_false(packet.wrong_length);
		assert_int_equal(packet.opcode, 1);
		assert_int_equal(packet.psn, 0xABCDEF);
		assert_int_equal(packet.payload_bytes, 1024);
		assert_ptr_equal(packet.payload, frame.bytes + frame_payload_at(form));
		assert_int_equal(packet.header.length_bytes, frame_payload_at(form));
		assert_memory_equal(packet.header.bytes, frame.bytes, frame_payload_at(form));
		assert_int_equal(packet.key.destination_qpn, 0x123456);
		assert_int_equal(packet.key.is_ipv6, form.ipv6);
		assert_int_equal(packet.key.has_vlan, form.vlan);
		assert_int_equal(packet.key.vlan_id, form.vlan ? 0x123 : 0);
		assert_memory_equal(packet.key.source_ip, addresses, bytes);
		assert_memory_equal(packet.key.destination_ip, addresses + bytes, bytes);
		assert_memory_equal(packet.key.source_ip + bytes, zeros_12, form.ipv6 ? 0 : 12);
	}
}

/* Every byte of the addresses, the VLAN's id, the UDP source port and the QPN distinguishes flows;
 * no other byte does. */
static void test_key(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct frame_form form = frame_forms[i];
		struct roce_frame frame = good_frame_of(form, PACKET_SEND_MIDDLE, 64);
		struct packet packet = parse(&frame);
		unsigned ip = frame_ip_at(form), bth = frame_bth_at(form);
		unsigned source = ip + (form.ipv6 ? 8 : 12);

		for (unsigned at = 0; at < frame_payload_at(form); at++) {
			struct roce_frame other = frame;
			other.bytes[at] ^= 0x01;
			struct packet changed = parse(&other);
			bool differs = (at >= source && at < frame_udp_at(form) + 2) ||
			               (at >= bth + 5 && at < bth + 8) ||
			               (form.vlan && (at == 14 || at == 15)); /* id */

			if (!changed.marked_request)
				continue;
			assert_int_equal(packet_keys_are_equal(&packet.key, &changed.key),
			                 !differs);
		}
		if (form.vlan) { /* the upper four bits of byte 14 are priority and DEI */
			struct roce_frame other = frame;
			other.bytes[14] ^= 0xF0;
			struct packet changed = parse(&other);
			assert_true(packet_keys_are_equal(&packet.key, &changed.key));
		}
	}
}

/* Without the DSCP of aggregation traffic a packet belongs to no flow; ECN does not matter. */
static void test_marking(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		for (unsigned traffic_class = 0; traffic_class < 256; traffic_class++) {
			struct roce_frame frame =
			        good_frame_of(frame_forms[i], PACKET_SEND_ONLY, 64);
			uint8_t *ip = frame.bytes + frame_ip_at(frame_forms[i]);
			bool marked = traffic_class >> 2 == 43;

			if (frame_forms[i].ipv6) {
				ip[0] = (uint8_t)(0x60 | traffic_class >> 4);
				ip[1] = (uint8_t)((ip[1] & 0x0F) | traffic_class << 4);
			} else {
				ip[1] = (uint8_t)traffic_class;
			}
			assert_int_equal(parse(&frame).marked_request, marked);
			assert_int_equal(parse(&frame).candidate, marked);
		}
}

/* A message has no padding in the sense of the BTH, so a packet with a pad count is not part of a
 * message. */
static void test_pads(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		for (unsigned flags = 0; flags < 256; flags++) {
			struct roce_frame frame =
			        good_frame_of(frame_forms[i], PACKET_SEND_ONLY, 64);

			frame.bytes[frame_bth_at(frame_forms[i]) + 1] = (uint8_t)flags;
			assert_true(parse(&frame).marked_request);
			assert_int_equal(parse(&frame).candidate, (flags & 0x30) == 0);
		}
}

/* A packet with VLAN id 0, whose IPv6 addresses are an IPv4 address followed by zeros. */
static struct packet_key key_in(struct frame_form form)
{
	static const uint8_t source[16] = {192, 0, 2, 3}, destination[16] = {192, 0, 2, 4};
	struct roce_frame frame = good_frame_of(form, PACKET_SEND_MIDDLE, 64);

	if (form.vlan)
		memset(frame.bytes + 14, 0, 2);
	if (form.ipv6) {
		memcpy(frame.bytes + frame_ip_at(form) + 8, source, 16);
		memcpy(frame.bytes + frame_ip_at(form) + 24, destination, 16);
	}
	return parse(&frame).key;
}

static void test_form_is_in_the_key(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		struct packet_key a = key_in(frame_forms[i / 4]), b = key_in(frame_forms[i % 4]);

		assert_int_equal(packet_keys_are_equal(&a, &b), i / 4 == i % 4);
	}
}

static void test_payload_sizes(void **state)
{
	(void)state;
	for (size_t bytes = 0; bytes <= PACKET_PAYLOAD_BYTES + 32; bytes++) {
		struct roce_frame frame =
		        good_frame_of(frame_forms[bytes / 16 % 4], PACKET_SEND_LAST, bytes);
		struct packet packet = parse(&frame);
		bool joinable = bytes >= 16 && bytes <= 4096 && bytes % 16 == 0;

		assert_int_equal(packet.candidate, joinable);
		assert_true(packet.marked_request);
	}
}

static void test_opcodes(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4 * 256; i++) {
		unsigned opcode = i / 4;
		struct roce_frame frame = good_frame_of(frame_forms[i % 4], (uint8_t)opcode, 64);
		struct packet packet = parse(&frame);
		bool send = opcode == 0 || opcode == 1 || opcode == 2 || opcode == 4;
		bool answer = opcode >= 0x0D && opcode <= 0x12; /* IBTA vol. 1, table 35 */

		assert_int_equal(packet.candidate, send);
		assert_int_equal(packet.marked_request, opcode < 0x20 && !answer);
	}
}

struct deviation {
	unsigned at; /* in the headers from IP on, of an untagged frame */
	uint8_t value;
	const char *what;
};

static void assert_no_roce(struct frame_form form, const struct deviation *deviations, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct roce_frame frame = good_frame_of(form, PACKET_SEND_ONLY, 64);
		unsigned at = deviations[i].at + (form.vlan ? 4 : 0);

		assert_true(parse(&frame).marked_request);
		frame.bytes[at] = deviations[i].value;
		struct packet packet = parse(&frame);
		if (packet.marked_request || packet.candidate)
			fail_msg("taken for RoCE in spite of: %s", deviations[i].what);
	}
}

static void test_no_roce(void **state)
{
	static const struct deviation ipv4[] = {
	        {12, 0x81, "EtherType"},  {12, 0x86, "EtherType"},        {14, 0x46, "IP options"},
	        {14, 0x65, "IP version"}, {20, 0x60, "more fragments"},   {21, 0x01, "offset"},
	        {23, 6, "TCP"},           {36, 0x13, "destination port"},
	};
	static const struct deviation ipv6[] = {
	        {12, 0x88, "EtherType"},        {13, 0x00, "EtherType"},
	        {14, 0x4F, "IP version"},       {20, 44, "fragment header"},
	        {20, 0, "hop-by-hop options"},  {20, 6, "TCP"},
	        {56, 0x13, "destination port"},
	};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		if (frame_forms[i].ipv6)
			assert_no_roce(frame_forms[i], ipv6, sizeof(ipv6) / sizeof(ipv6[0]));
		else
			assert_no_roce(frame_forms[i], ipv4, sizeof(ipv4) / sizeof(ipv4[0]));
	}
}

/* One 802.1Q tag is read; a second one, or one of 802.1ad, is not. */
static void test_tags(void **state)
{
	static const uint8_t tags[][4] = {{0x81, 0, 0, 5}, {0x88, 0xA8, 0, 5}};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned tag = 0; tag < 2; tag++) {
			struct roce_frame frame =
			        good_frame_of(frame_forms[i], PACKET_SEND_ONLY, 64);
			bool known = tag == 0 && !frame_forms[i].vlan;

			memmove(frame.bytes + 16, frame.bytes + 12, frame.length - 12);
			memcpy(frame.bytes + 12, tags[tag], 4);
			frame.length += 4;
			assert_int_equal(parse(&frame).candidate, known);
			assert_int_equal(parse(&frame).marked_request, known);
		}
	}
}

static void test_lengths_that_disagree(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct frame_form form = frame_forms[i];
		struct roce_frame frame = good_frame_of(form, PACKET_SEND_ONLY, 64);

		frame.bytes[frame_ip_at(form) + (form.ipv6 ? 5 : 3)] ^= 0x10; /* not UDP's length
		                                                               * any more */
		assert_false(parse(&frame).candidate);
		assert_true(parse(&frame).marked_request);

		frame = good_frame_of(form, PACKET_SEND_ONLY, 64);
		assert_false(parse(&frame).trailed);
		frame.length++;
		assert_true(parse(&frame).candidate);
		assert_false(parse(&frame).wrong_length);
		assert_true(parse(&frame).trailed);
		frame.length -= 2;
		assert_true(parse(&frame).wrong_length);
		assert_false(parse(&frame).trailed);
		frame.length = 64; /* one beat */
		assert_false(parse(&frame).candidate);
	}
}

static void test_short_frames(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		unsigned least = frame_payload_at(frame_forms[i]);
		struct roce_frame frame = good_frame_of(frame_forms[i], PACKET_SEND_ONLY, 64);

		for (frame.length = 0; frame.length <= 80; frame.length++) {
			assert_int_equal(parse(&frame).marked_request, frame.length >= least);
			assert_int_equal(parse(&frame).candidate,
			                 frame.length >= least && frame.length > 64);
		}
	}
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
			struct roce_frame frame = good_frame(rules[i].opcode, bytes);
			struct packet packet = parse(&frame);

			assert_int_equal(packet_is_well_formed(&packet), bytes >= rules[i].least);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_fields),
	        cmocka_unit_test(test_marking),
	        cmocka_unit_test(test_pads),
	        cmocka_unit_test(test_key),
	        cmocka_unit_test(test_form_is_in_the_key),
	        cmocka_unit_test(test_payload_sizes),
	        cmocka_unit_test(test_opcodes),
	        cmocka_unit_test(test_no_roce),
	        cmocka_unit_test(test_tags),
	        cmocka_unit_test(test_lengths_that_disagree),
	        cmocka_unit_test(test_short_frames),
	        cmocka_unit_test(test_well_formed),
	};
	return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
