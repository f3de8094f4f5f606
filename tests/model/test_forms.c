/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IPv4 and IPv6, with and without a VLAN tag: four ranks, all in one form or each in a different
 * form. Each frame that comes out must be, byte by byte, the frame that the sender would have made
 * with that payload.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"

enum { RANKS = 4, WINDOW = 8, MIXED = 4, SEND_ONLY = 4, ACKNOWLEDGE = 0x11, CNP = 0x81 };

/* `forms`: the form of all ranks; or MIXED: each rank in a different form. */
static struct rig *open_in(unsigned forms)
{
	struct rig *rig = rig_open(RANKS, WINDOW);

	rig->tos = INA_WIRE_TRAFFIC_CLASS;
	for (unsigned rank = 0; rank < RANKS; rank++)
		rig->forms[rank] = frame_forms[forms == MIXED ? rank : forms];
	rig_join_all(rig);
	return rig;
}

/* The frame of rank's packet `index` of `element` with the sum as payload. */
static struct roce_frame sum_frame(const struct rig *rig, unsigned rank, unsigned index,
                                   int32_t sum)
{
	struct roce_frame frame = rig_data(rig, rank, index, sum);
	uint32_t contributors = RANKS, last_rank = RANKS - 1;
	uint32_t flags = (rig->tos & 3) == 3 ? INA_WIRE_CONGESTED : 0;

	memcpy(frame.bytes + frame.length - 20, &contributors, 4);
	memcpy(frame.bytes + frame.length - 16, &flags, 4);
	memcpy(frame.bytes + frame.length - 8, &last_rank, 4);
	frame_seal(&frame);
	return frame;
}

static void assert_emitted(const struct rig *rig, unsigned position, unsigned port,
                           const struct roce_frame *want)
{
	const struct rig_emitted *emitted = &rig->emitted[position];

	assert_int_equal(emitted->port, port);
	assert_int_equal(emitted->frame.length, want->length);
	assert_memory_equal(emitted->frame.bytes, want->bytes, want->length);
}

static void put_all(struct rig *rig, unsigned index, int marked)
{
	for (unsigned rank = 0; rank < RANKS; rank++) {
		rig->tos = (int)rank == marked ? 0xAF : 0xAE;
		struct roce_frame frame = rig_data(rig, rank, index, (int32_t)(index + rank));
		/* A UDP checksum, which is correct for this payload only and so cannot stay. */
		memset(frame.bytes + frame_udp_at(rig->forms[rank]) + 6, 0x5A, 2);
		rig_put(rig, rank, &frame);
	}
	assert_int_equal(rig->emitted_count, RANKS);
}

static void test_sums(void **state)
{
	(void)state;
	for (unsigned forms = 0; forms <= MIXED; forms++) {
		struct rig *rig = open_in(forms);

		for (unsigned index = 1; index < 20; index++) {
			put_all(rig, index, -1);
			for (unsigned rank = 0; rank < RANKS; rank++) {
				struct roce_frame want =
				        sum_frame(rig, rank, index, (int32_t)(4 * index + 6));

				assert_emitted(rig, rank, rank, &want);
			}
		}
		rig_close(rig);
	}
}

/* One of four is marked: all leave marked. `want` has a checksum computed from scratch, not an
 * updated one. */
static void test_congestion(void **state)
{
	(void)state;
	for (unsigned forms = 0; forms <= MIXED; forms++) {
		struct rig *rig = open_in(forms);

		for (unsigned index = 1; index <= RANKS; index++) {
			put_all(rig, index, (int)index - 1);
			rig->tos = 0xAF;
			for (unsigned rank = 0; rank < RANKS; rank++) {
				struct roce_frame want =
				        sum_frame(rig, rank, index, (int32_t)(4 * index + 6));

				assert_emitted(rig, rank, rank, &want);
			}
		}
		rig_assert_count(rig, ecn_marked, RANKS * (RANKS - 1));
		rig_close(rig);
	}
}

/* The other packets that the aggregator makes: probes, and answers from the history. */
static void test_probes_and_answers(void **state)
{
	static const uint8_t zeros[64];

	(void)state;
	for (unsigned forms = 0; forms <= MIXED; forms++) {
		struct rig *rig = open_in(forms);

		put_all(rig, 1, -1);
		rig->tos = 0xAE;
		for (unsigned rank = 0; rank < RANKS; rank++) {
			struct roce_frame again = rig_data(rig, rank, 1, 999);
			struct roce_frame answer = sum_frame(rig, rank, 1, 10);
			struct roce_frame ahead = rig_data(rig, rank, 4, 5);
			struct roce_frame probe =
			        rig_frame(rig, rank, 4 + 0x400000, SEND_ONLY, zeros, sizeof(zeros));

			frame_ask_for_ack(&answer);
			rig_put(rig, rank, &again);
			rig_assert_passed(rig, rank, &answer);
			rig_put(rig, rank, &ahead);
			rig_assert_passed(rig, rank, &probe);
		}
		rig_close(rig);
	}
}

/* Acknowledgements, NAKs and CNPs pass in every form, even with the addresses of a flow. */
static void test_passing(void **state)
{
	static const uint8_t payload[16] = {0x60, 0, 0, 1};
	static const struct {
		uint8_t opcode;
		size_t bytes;
	} passing[] = {{ACKNOWLEDGE, 4}, {CNP, 16}};

	(void)state;
	for (unsigned forms = 0; forms <= MIXED; forms++) {
		struct rig *rig = open_in(forms);

		for (unsigned i = 0; i < RANKS * 2; i++) {
			struct roce_frame frame = rig_frame(rig, i / 2, 1, passing[i % 2].opcode,
			                                    payload, passing[i % 2].bytes);

			rig_put(rig, i / 2, &frame);
			rig_assert_passed(rig, i / 2, &frame);
		}
		rig_assert_count(rig, packets_taken, RANKS);
		put_all(rig, 1, -1); /* and the job continues */
		rig_close(rig);
	}
}

/* The same addresses in another form or VLAN belong to another connection. */
static void test_strangers(void **state)
{
	(void)state;
	for (unsigned forms = 0; forms < 4; forms++) {
		struct rig *rig = open_in(forms);
		struct roce_frame own = rig_data(rig, 0, 1, 1);

		for (unsigned other = 0; other < 4; other++) {
			if (other == forms)
				continue;
			rig->forms[0] = frame_forms[other];
			struct roce_frame stranger = rig_data(rig, 0, 1, 1);
			rig_put(rig, 0, &stranger);
			rig_assert_passed(rig, 0, &stranger);
		}
		if (frame_forms[forms].vlan) {
			own.bytes[15] ^= 1;
			rig_put(rig, 0, &own);
			rig_assert_passed(rig, 0, &own);
		}
		rig_assert_count(rig, packets_taken, RANKS);
		rig_close(rig);
	}
}

static void keep_length(void *context, unsigned port, const uint8_t *frame, size_t length)
{
	(void)port;
	(void)frame;
	*(size_t *)context = length;
}

/* A frame that would pass is discarded if it has more than 16,384 bytes. */
static void test_longest_frame(void **state)
{
	static const uint8_t bytes[16385];
	const struct aggregator_config config = {.ports = 2, .jobs = 1, .window_packets = 2};
	size_t passed = 0;
	struct aggregator *aggregator = aggregator_open(&config, keep_length, &passed);

	(void)state;
	assert_non_null(aggregator);
	aggregator_put(aggregator, 0, bytes, 16384);
	assert_int_equal(passed, 16384);
	passed = 0;
	aggregator_put(aggregator, 0, bytes, 16385);
	assert_int_equal(passed, 0);
	assert_int_equal(aggregator_counters(aggregator)->frames_in, 2);
	assert_int_equal(aggregator_counters(aggregator)->frames_passed, 1);
	aggregator_close(aggregator);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_sums),
	        cmocka_unit_test(test_congestion),
	        cmocka_unit_test(test_probes_and_answers),
	        cmocka_unit_test(test_passing),
	        cmocka_unit_test(test_strangers),
	        cmocka_unit_test(test_longest_frame),
	};
	return cmocka_run_group_tests_name("forms", tests, NULL, NULL);
}
