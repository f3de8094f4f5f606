/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of the aggregator that tests/protocol does not check: configurations, all counters,
 * sizes that ina-bridge does not have, and marks of congestion. tests/protocol checks the rules of
 * docs/protocol.md for one switch.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"

enum {
	SEND_FIRST = 0,
	SEND_MIDDLE = 1,
	SEND_LAST = 2,
	SEND_ONLY = 4,
	WRITE_ONLY = 10,
	ACKNOWLEDGE = 0x11,
	WINDOW = 8,
	/* In a frame of the rig. */
	QPN_LOW_AT = 49,
	MESSAGE_AT = FRAME_HEADER_BYTES,
	RANK_COUNT_AT = MESSAGE_AT + 6,
	JOB_ID_AT = MESSAGE_AT + 8,
};

/* A JOIN of a job of `ranks` ranks, on a separate connection. */
static struct roce_frame join_of(const struct rig *rig, unsigned rank, uint8_t job, uint16_t ranks)
{
	struct roce_frame join = rig_control(rig, rank, 0, INA_WIRE_JOIN);

	memcpy(join.bytes + RANK_COUNT_AT, &ranks, sizeof(ranks));
	join.bytes[JOB_ID_AT] = job;
	join.bytes[QPN_LOW_AT] = job;
	frame_seal(&join);
	return join;
}

static void put_join(struct rig *rig, unsigned rank, uint8_t job, uint16_t ranks)
{
	struct roce_frame join = join_of(rig, rank, job, ranks);

	rig_put(rig, rank, &join);
}

/* Rank 0's packet 1, of another kind. */
static void put_other(struct rig *rig, unsigned port, uint8_t opcode, size_t bytes)
{
	static const uint8_t payload[80];
	struct roce_frame other = rig_frame(rig, 0, 1, opcode, payload, bytes);

	rig_put(rig, port, &other);
}

/* Each event of model/counters.h, in a job of three ranks and next to it. */
static void test_counters(void **state)
{
	struct rig *rig = rig_open_with(3, (struct aggregator_config){.ports = 3,
	                                                              .jobs = 4,
	                                                              .window_packets = WINDOW,
	                                                              .has_quiet_time = true,
	                                                              .quota = 2});
	struct roce_frame frame;

	(void)state;
	rig_put_data(rig, 0, 1, 1); /* in the quiet time */
	aggregator_tick(rig->aggregator);
	aggregator_tick(rig->aggregator);
	rig_join_all(rig);
	for (unsigned rank = 0; rank < 3; rank++) {
		rig->tos = rank == 0 ? 0xAF : 0xAE; /* the other two become marked */
		rig_put_data(rig, rank, 1, 1);
	}
	rig_put_data(rig, 0, 1, 1); /* is answered */
	rig->tos = 0xAE;
	for (unsigned index = 2; index < 2 + WINDOW; index++)
		rig_put_data(rig, 0, index, 1);
	rig_put_data(rig, 0, 2, 1);          /* waits */
	rig_put_data(rig, 0, 2 + WINDOW, 1); /* no room */
	rig_put_data(rig, 1, 4, 1);          /* past a gap */
	rig_put_data(rig, 1, 0xFFFFFF, 1);   /* before the JOIN */
	put_other(rig, 0, SEND_MIDDLE, 80);  /* its sum has 64 bytes */
	put_other(rig, 0, WRITE_ONLY, 16);   /* a suspect */
	put_other(rig, 1, SEND_ONLY, 64);    /* elsewhere */
	frame = rig_data(rig, 0, 1, 1);
	frame.bytes[frame.length - 1] ^= 1;
	rig_put(rig, 0, &frame);           /* damaged */
	put_other(rig, 0, ACKNOWLEDGE, 4); /* passes */
	put_join(rig, 0, 0x70, 1);         /* refused */
	for (unsigned rank = 0; rank < 3; rank++)
		put_join(rig, rank, (uint8_t)(0x71 + rank), 3);
	put_join(rig, 1, 0x74, 3); /* no context */
	frame = rig_brief(rig, 2, 2, SEND_ONLY, 32);
	rig_put(rig, 2, &frame); /* breaks the job, and passes */
	aggregator_age(rig->aggregator);
	aggregator_age(rig->aggregator);
	for (unsigned job = 0; job < 3; job++) /* the last one is held: its port has its quota */
		put_join(rig, 0, (uint8_t)(0x75 + job), 3);

	const struct ina_counters want = {
	        .frames_in = 34,
	        .frames_passed = 4,
	        .icrc_dropped = 1,
	        .packets_taken = 3 + 3 + WINDOW + 3 + 2,
	        .packets_joined = 3 + 3,
	        .bytes_joined = 3 * 48 + 3 * 64,
	        .packets_raw = WINDOW,
	        .duplicates_answered = 1,
	        .duplicates_waiting = 1,
	        .duplicates_old = 1,
	        .gaps = 1,
	        .no_room_dropped = 1,
	        .joins_granted = 3 + 3 + 2,
	        .joins_refused = 2,
	        .jobs_opened = 1 + 3 + 2,
	        .jobs_closed = 4,
	        .jobs_broken = 1,
	        .ecn_marked = 2,
	        .jobs_expired = 4,
	        .answers_differ = 1,
	        .suspects_dropped = 1,
	        .elsewhere_dropped = 1,
	        .joins_held = 1,
	        .quiet_dropped = 1,
	        .contexts_lacked = 1,
	};
#define X(name, meaning) assert_int_equal(aggregator_counters(rig->aggregator)->name, want.name);
	INA_COUNTERS(X)
#undef X
	rig_close(rig);
}

/* Answers and probes have no mark, whatever congestion the sum met. */
static void test_no_mark(void **state)
{
	struct rig *rig = rig_open(4, WINDOW);

	(void)state;
	rig_join_all(rig);
	for (unsigned rank = 0; rank < 4; rank++) {
		rig->tos = rank == 1 ? 0xAF : 0xAE;
		rig_put_data(rig, rank, 1, 1);
	}
	assert_int_equal(rig->emitted_count, 4);
	for (unsigned index = 1; index <= 4; index += 3) { /* answered; past a gap */
		rig_put_data(rig, 0, index, 1);
		assert_int_equal(rig->emitted_count, 1);
		assert_int_equal(rig->emitted[0].frame.bytes[15], 0xAE);
	}
	rig_close(rig);
}

/* Bit 2 of the flags is set in the message of which a packet met congestion, whichever it was, and
 * in no other. */
static void test_congestion_in_the_trailer(void **state)
{
	struct rig *rig = rig_open(4, WINDOW);
	const uint32_t elements[16] = {0};

	(void)state;
	rig_join_all(rig);
	for (unsigned index = 1; index < 7;
	     index++) { /* messages of two packets, of 48 and 64 bytes */
		const unsigned number = (index + 1) / 2;
		const bool is_last = index % 2 == 0;
		const struct ina_wire_header header =
		        rig_header(rig, INA_WIRE_DATA, number, sizeof(elements));
		uint8_t message[32 + sizeof(elements) + 16];

		message_make(message, &header, elements, 0);
		for (unsigned rank = 0; rank < 4; rank++) {
			rig->tos = index == 3 && rank == 3 ? 0xAF : 0xAE;
			struct roce_frame frame =
			        rig_frame(rig, rank, index, is_last ? SEND_LAST : SEND_FIRST,
			                  message + (is_last ? 48 : 0), is_last ? 64 : 48);
			rig_put(rig, rank, &frame);
		}
		assert_int_equal(rig->emitted_count, 4);
		for (unsigned i = 0; i < 4 && is_last; i++) {
			const struct roce_frame *frame = &rig->emitted[i].frame;

			assert_int_equal(frame->bytes[frame->length - 16], number == 2 ? 4 : 0);
		}
	}
	rig_close(rig);
}

/* Only the fourth suspect in a row evicts a flow. Any packet of the flow starts the count again. */
static void test_suspects_in_a_row(void **state)
{
	struct rig *rig = rig_open(3, WINDOW);
	struct roce_frame own = rig_control(rig, 0, 0, INA_WIRE_JOIN);

	(void)state;
	rig_join_all(rig);
	for (unsigned turn = 0; turn < 3; turn++) {
		for (unsigned i = 0; i < 3; i++)
			put_other(rig, 0, WRITE_ONLY, 16);
		rig_put(rig, 0, &own);
	}
	rig_assert_count(rig, suspects_dropped, 9);
	rig_assert_count(rig, jobs_broken, 0);
	for (unsigned i = 0; i < 4; i++)
		put_other(rig, 0, WRITE_ONLY, 16);
	rig_assert_count(rig, jobs_broken, 1);
	rig_close(rig);
}

static void end_patience(struct rig *rig, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		aggregator_patience(rig->aggregator);
}

/* Packets of a flow at another port break its job once the flow has been silent, however long.
 * Packets that wait leave immediately, raw. */
static void test_broken_by_another_port(void **state)
{
	struct rig *rig = rig_open_with(
	        3, (struct aggregator_config){
	                   .ports = 3, .jobs = 4, .window_packets = WINDOW, .has_patience = true});
	struct roce_frame waits = rig_data(rig, 0, 1, 50), other = rig_data(rig, 2, 1, 1);
	struct roce_frame own = rig_control(rig, 2, 0, INA_WIRE_JOIN);

	(void)state;
	rig_join_all(rig);
	rig_put(rig, 0, &waits);
	end_patience(rig, 5);
	rig_put(rig, 2, &own);
	for (unsigned i = 0; i < 4; i++) {
		rig_put(rig, 1, &other);
		rig_assert_nothing(rig);
	}
	end_patience(rig, 5);
	rig_assert_count(rig, jobs_broken, 0);
	rig_put(rig, 1, &other);
	rig_assert_passed(rig, 0, &waits);
	rig_assert_count(rig, jobs_broken, 1);
	rig_close(rig);
}

/* The update of the checksum, for every value that the checksum can have. */
static void test_congestion_checksums(void **state)
{
	struct rig *rig = rig_open(4, WINDOW);

	(void)state;
	rig_join_all(rig);
	for (unsigned index = 1; index < 3000; index++) {
		for (unsigned rank = 0; rank < 4; rank++) {
			struct roce_frame frame = rig_data(rig, rank, index, 0);

			frame.bytes[15] = rank == 3 ? 0xAF : 0xAE;
			frame.bytes[18] = (uint8_t)(index * 22 >> 8); /* IP identification */
			frame.bytes[19] = (uint8_t)(index * 22);
			frame_seal(&frame);
			rig_put(rig, rank, &frame);
		}
		assert_int_equal(rig->emitted_count, 4);
		for (unsigned rank = 0; rank < 4; rank++)
			assert_int_equal(frame_ip_sum(rig->emitted[rank].frame.bytes), 0xFFFF);
	}
	rig_close(rig);
}

/* Frames that are not aggregation traffic pass unchanged, whatever their length. */
static void test_passing(void **state)
{
	struct rig *rig = rig_open(4, WINDOW);
	struct roce_frame frame = {0};
	unsigned seed = 3, put = 0;

	(void)state;
	for (frame.length = 1; frame.length <= ROCE_FRAME_BYTES_MAX; frame.length += 37, put++) {
		for (size_t i = 0; i < frame.length; i++)
			frame.bytes[i] = (uint8_t)(rand_r(&seed) >> 7);
		rig_put(rig, put % 4, &frame);
		rig_assert_passed(rig, put % 4, &frame);
	}
	rig_assert_count(rig, frames_in, put);
	rig_assert_count(rig, frames_passed, put);
	rig_close(rig);
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

static void test_config(void **state)
{
	static const struct aggregator_config wrong[] = {
#define SIZES(port_count, job_count, slots, mtu)                                                   \
	{.ports = port_count, .jobs = job_count, .window_packets = slots, .mtu_bytes = mtu}
	        SIZES(1, 4, 8, 0),    SIZES(33, 4, 8, 0),  SIZES(4, 0, 8, 0),
	        SIZES(4, 65, 8, 0),   SIZES(4, 4, 0, 0),   SIZES(4, 4, 1, 0),
	        SIZES(4, 4, 4097, 0), SIZES(4, 4, 8, 128), SIZES(4, 4, 8, 1000),
	        SIZES(4, 4, 8, 8192),
#define PLACE(own_level, up_ports)                                                                 \
	{                                                                                          \
		.ports = 4, .jobs = 4, .window_packets = 8, .place = {                             \
			.level = own_level,                                                        \
			.uplinks = up_ports                                                        \
		}                                                                                  \
	}
	        PLACE(4, 0),          PLACE(1, 0xF),       PLACE(1, 0x10),
#define MEMORY(packets, window, grain)                                                             \
	{.ports = 4,                                                                               \
	 .jobs = 4,                                                                                \
	 .memory_packets = packets,                                                                \
	 .window_packets = window,                                                                 \
	 .grain_packets = grain}
	        MEMORY(64, 12, 4),    MEMORY(4, 8, 4),     MEMORY(66, 8, 4),
	        MEMORY(63, 8, 3),     MEMORY(64, 8, 16),   MEMORY(32769, 8, 1),
	        MEMORY(12, 8, 4),
#undef MEMORY
#undef PLACE
#undef SIZES
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		errno = 0;
		assert_null(aggregator_open(&wrong[i], NULL, NULL));
		assert_int_equal(errno, EINVAL);
	}
	aggregator_close(NULL);
}

/* Any number of slots works: a ring of five wraps again and again, and so does the history. */
static void test_whole_history(void **state)
{
	struct rig *rig = rig_open(2, 4);

	(void)state;
	rig_join_all(rig);
	for (unsigned index = 1; index < 40; index++) {
		for (unsigned rank = 0; rank < 2; rank++)
			rig_put_data(rig, rank, index, (int32_t)(index + rank));
		assert_int_equal(rig->emitted_count, 2);
		for (unsigned back = 0; back < 4 && back < index; back++) {
			rig_put_data(rig, 0, index - back, 7);
			assert_int_equal(rig->emitted_count, 1);
			assert_int_equal(rig_element(&rig->emitted[0].frame),
			                 2 * (index - back) + 1);
		}
	}
	rig_close(rig);
}

/* A packet with a payload above the MTU cannot be summed. */
static void test_small_mtu(void **state)
{
	struct rig *rig = rig_open_with(
	        2, (struct aggregator_config){
	                   .ports = 2, .jobs = 1, .window_packets = 8, .mtu_bytes = 256});
	uint8_t payload[272] = {0};

	(void)state;
	rig_join_all(rig);
	struct roce_frame large = rig_frame(rig, 0, 1, 1, payload, sizeof(payload));
	rig_put(rig, 0, &large);
	rig_assert_nothing(rig);
	rig_assert_count(rig, suspects_dropped, 1);
	struct roce_frame fits = rig_frame(rig, 0, 1, 1, payload, 256);
	rig_put(rig, 0, &fits);
	rig_assert_count(rig, packets_taken, 3);
	rig_close(rig);
}

/* Each number type with each operation: summed if the aggregator lacks neither. */
static void check_lacks(struct aggregator_lack lacks)
{
	struct aggregator_config config = {
	        .ports = 3, .jobs = 4, .window_packets = WINDOW, .lacks = lacks};

	for (uint8_t type = INA_WIRE_INT32; type <= INA_WIRE_FLOAT16; type++)
		for (uint8_t operation = INA_WIRE_SUM; operation <= INA_WIRE_MIN; operation++) {
			const bool lacking = (lacks.int32 && type == INA_WIRE_INT32) ||
			                     (lacks.half_formats && type >= INA_WIRE_BFLOAT16) ||
			                     (lacks.max_min && operation != INA_WIRE_SUM);
			struct rig *rig = rig_open_with(3, config);

			rig_join_all(rig);
			for (unsigned rank = 0; rank < 3; rank++) {
				struct roce_frame frame = rig_data(rig, rank, 1, 7);

				frame.bytes[MESSAGE_AT + 4] = type;
				frame.bytes[MESSAGE_AT + 5] = operation;
				frame_seal(&frame);
				rig_put(rig, rank, &frame);
			}
			rig_assert_count(rig, jobs_broken, lacking);
			rig_assert_count(rig, packets_raw, lacking ? 3 : 0);
			rig_assert_count(rig, packets_joined, lacking ? 3 : 6);
			rig_close(rig);
		}
}

static void test_what_an_aggregator_lacks(void **state)
{
	(void)state;
	check_lacks((struct aggregator_lack){.half_formats = true});
	check_lacks((struct aggregator_lack){.max_min = true});
	check_lacks((struct aggregator_lack){.int32 = true});
	check_lacks((struct aggregator_lack){true, true, true});
	check_lacks((struct aggregator_lack){false});
}

static void age(struct rig *rig)
{
	rig->emitted_count = 0;
	aggregator_age(rig->aggregator);
}

/*
 * Three kinds of packets do not keep it alive: answers of the flow's host to its predecessor,
 * packets of other connections to the same destination, and damaged packets. A live host may send
 * each of them indefinitely.
 */
static void test_others_do_not_keep_it(void **state)
{
	struct rig *rig = rig_open(3, WINDOW);
	struct roce_frame frames[6];

	(void)state;
	rig_join_all(rig);
	frames[0] = rig_frame(rig, 1, 1, 0x11, "abcd", 4);
	frames[1] = rig_data(rig, 1, 1, 0);
	frames[1].bytes[QPN_LOW_AT] ^= 0x40;
	frame_seal(&frames[1]);
	frames[2] = rig_data(rig, 1, 1, 0);
	frames[2].bytes[frames[2].length - 1] ^= 1;
	frames[3] = rig_frame(rig, 1, 1, WRITE_ONLY, "0123456789abcdef", 16);
	frames[4] = rig_data(rig, 1, 0x1000, 0);
	frames[5] = join_of(rig, 1, RIG_QPN + 1, 3);
	age(rig);
	for (unsigned i = 0; i < 6; i++)
		rig_put(rig, 1, &frames[i]);
	rig_assert_count(rig, icrc_dropped, 1);
	rig_assert_count(rig, suspects_dropped, 3);
	rig_assert_count(rig, jobs_expired, 0);
	age(rig);
	rig_assert_count(rig, jobs_expired, 1);
	rig_close(rig);
}

/*
 * A job that lacks a rank's JOIN expires whatever the other ranks send again, because the missing
 * rank may not exist. A JOIN of a further rank keeps it alive. Once all ranks have joined, any
 * packet does.
 */
static void test_half_open(void **state)
{
	struct rig *rig = rig_open(3, WINDOW);
	struct roce_frame joins[3];

	(void)state;
	for (unsigned rank = 0; rank < 3; rank++)
		joins[rank] = join_of(rig, rank, 0x80, 3);
	rig_put(rig, 0, &joins[0]);
	age(rig);
	rig_put(rig, 0, &joins[0]);
	rig_put(rig, 1, &joins[1]);
	age(rig);
	rig_put(rig, 0, &joins[0]);
	rig_put(rig, 1, &joins[1]);
	rig_assert_count(rig, jobs_expired, 0);
	age(rig);
	rig_assert_count(rig, jobs_expired, 1);
	rig_assert_nothing(rig); /* the JOINs are lost */
	rig_assert_count(rig, jobs_broken, 0);
	rig_assert_count(rig, jobs_closed, 1);

	for (unsigned rank = 0; rank < 3; rank++) {
		rig_put(rig, rank, &joins[rank]);
		age(rig);
	}
	for (unsigned i = 0; i < 4; i++) {
		rig_put(rig, 0, &joins[0]);
		assert_int_equal(rig->emitted_count, 1); /* the sum, again */
		age(rig);
	}
	rig_assert_count(rig, jobs_expired, 1);
	rig_close(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_counters),
	        cmocka_unit_test(test_no_mark),
	        cmocka_unit_test(test_congestion_in_the_trailer),
	        cmocka_unit_test(test_suspects_in_a_row),
	        cmocka_unit_test(test_broken_by_another_port),
	        cmocka_unit_test(test_congestion_checksums),
	        cmocka_unit_test(test_passing),
	        cmocka_unit_test(test_longest_frame),
	        cmocka_unit_test(test_config),
	        cmocka_unit_test(test_whole_history),
	        cmocka_unit_test(test_small_mtu),
	        cmocka_unit_test(test_what_an_aggregator_lacks),
	        cmocka_unit_test(test_others_do_not_keep_it),
	        cmocka_unit_test(test_half_open),
	};
	return cmocka_run_group_tests_name("aggregator", tests, NULL, NULL);
}
