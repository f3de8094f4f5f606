/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals of JOINs, events that break a job, the packets of a broken job, and the end of jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"

enum {
	SEND_FIRST = 0,
	SEND_MIDDLE = 1,
	SEND_LAST = 2,
	SEND_ONLY = 4,
	WINDOW = 8,
	/* In a frame of the rig. */
	MESSAGE_AT = FRAME_HEADER_BYTES,
	TYPE_AT = MESSAGE_AT + 3,
	RANK_COUNT_AT = MESSAGE_AT + 6,
	JOB_ID_AT = MESSAGE_AT + 8,
	WINDOW_AT = MESSAGE_AT + 28,
};

static int open_three(void **state)
{
	*state = rig_open(3, WINDOW);
	return 0;
}

static int close_rig(void **state)
{
	rig_close(*state);
	return 0;
}

/* A good JOIN of `rank` with `bytes` at `at` changed, and sealed again. */
static struct roce_frame changed_join(const struct rig *rig, unsigned rank, unsigned at,
                                      const void *bytes, size_t count)
{
	struct roce_frame frame = rig_control(rig, rank, 0, INA_WIRE_JOIN);

	memcpy(frame.bytes + at, bytes, count);
	frame_seal(&frame);
	return frame;
}

static void assert_refused(struct rig *rig, unsigned port, const struct roce_frame *frame)
{
	uint64_t before = aggregator_counters(rig->aggregator)->joins_refused;

	rig_put(rig, port, frame);
	rig_assert_passed(rig, port, frame);
	rig_assert_count(rig, joins_refused, before + 1);
}

static void test_refused_numbers(void **state)
{
	struct rig *rig = *state;
	static const uint16_t rank_counts[] = {0, 1, 4, 0xFFFF};
	static const int32_t windows[] = {0, 1, WINDOW, INT32_MAX};

	for (size_t i = 0; i < 4; i++) {
		struct roce_frame join = changed_join(rig, 0, RANK_COUNT_AT, &rank_counts[i], 2);
		assert_refused(rig, 0, &join);
	}
	for (size_t i = 0; i < 4; i++) {
		struct roce_frame join = changed_join(rig, 0, WINDOW_AT, &windows[i], 4);
		assert_refused(rig, 0, &join);
	}
	rig_assert_count(rig, jobs_opened, 0);
	rig_assert_count(rig, packets_taken, 0);
}

/* A JOIN or LEAVE of a rank of job `job`, which has two ranks, on a separate connection. */
static struct roce_frame of_a_pair(const struct rig *rig, unsigned rank, unsigned job,
                                   unsigned index, enum ina_wire_type type)
{
	struct roce_frame frame = rig_control(rig, rank, index, type);
	const uint16_t two = 2;

	memcpy(frame.bytes + RANK_COUNT_AT, &two, sizeof(two));
	frame.bytes[JOB_ID_AT + 5] = (uint8_t)job;
	frame.bytes[49] = (uint8_t)(0x60 + job);
	frame_seal(&frame);
	return frame;
}

/* Four contexts: the fifth job is refused until one of the four has ended. */
static void test_refused_for_want_of_contexts(void **state)
{
	struct rig *rig = *state;

	for (unsigned job = 0; job < 4; job++)
		for (unsigned rank = 0; rank < 2; rank++) {
			struct roce_frame join = of_a_pair(rig, rank, job, 0, INA_WIRE_JOIN);

			rig_put(rig, rank, &join);
			assert_int_equal(rig->emitted_count, 2 * rank);
		}
	struct roce_frame fifth = of_a_pair(rig, 0, 4, 0, INA_WIRE_JOIN);
	assert_refused(rig, 0, &fifth);
	rig_assert_count(rig, jobs_opened, 4);

	for (unsigned rank = 0; rank < 2; rank++) {
		struct roce_frame leave = of_a_pair(rig, rank, 2, 1, INA_WIRE_LEAVE);

		rig_put(rig, rank, &leave);
	}
	rig_assert_count(rig, jobs_closed, 1);
	rig_put(rig, 0, &fifth);
	rig_assert_nothing(rig);
	rig_assert_count(rig, jobs_opened, 5);
}

/*
 * DATA waits for the JOIN's ACK. So if a packet comes past a gap before the JOIN has gone out, the
 * flow was learned from a copy of a JOIN that the network delivered again. The connection's LEAVE
 * ends that flow.
 */
static void test_past_a_gap_before_the_join(void **state)
{
	struct rig *rig = *state;
	struct roce_frame join = rig_control(rig, 0, 0, INA_WIRE_JOIN);
	struct roce_frame leave = rig_control(rig, 0, 5, INA_WIRE_LEAVE);

	rig_put(rig, 0, &join);
	rig_assert_nothing(rig);
	rig_put(rig, 0, &leave);
	assert_int_equal(rig->emitted_count, 2);
	rig_assert_count(rig, jobs_broken, 1);
	rig_assert_count(rig, packets_raw, 1); /* the JOIN */
	rig_assert_count(rig, frames_passed, 1);
	rig_assert_count(rig, gaps, 1);
	rig_assert_count(rig, jobs_closed, 1);
	rig_put(rig, 0, &leave);
	rig_assert_passed(rig, 0, &leave);
}

/* A JOIN of rank 0 for a new job of `ranks` ranks, on a separate connection. */
static struct roce_frame join_of_new_job(const struct rig *rig, unsigned job, uint16_t ranks)
{
	struct roce_frame join = changed_join(rig, 0, RANK_COUNT_AT, &ranks, 2);

	join.bytes[JOB_ID_AT + 5] = (uint8_t)job;
	join.bytes[49] = (uint8_t)(0x60 + job);
	frame_seal(&join);
	return join;
}

/*
 * Four contexts: one port gets three of them alone. Its JOIN for the last one is dropped until
 * another port has joined one of the three. Any other port gets the last context.
 */
static void test_held(void **state)
{
	struct rig *rig = *state;

	for (unsigned job = 0; job < 3; job++) {
		struct roce_frame join = join_of_new_job(rig, job, 2);

		rig_put(rig, 0, &join);
	}
	rig_assert_count(rig, jobs_opened, 3);

	struct roce_frame fourth = join_of_new_job(rig, 3, 2);
	rig_put(rig, 0, &fourth);
	rig_assert_nothing(rig);
	rig_assert_count(rig, joins_held, 1);
	rig_assert_count(rig, joins_refused, 0);
	rig_assert_count(rig, joins_granted, 3);

	/* Another port joins one of the three. */
	struct roce_frame peer = join_of_new_job(rig, 1, 2);
	peer.bytes[49] = 0x71;
	frame_seal(&peer);
	rig_put(rig, 1, &peer);
	rig_assert_count(rig, joins_granted, 4);
	rig_put(rig, 0, &fourth);
	rig_assert_nothing(rig);
	rig_assert_count(rig, joins_granted, 5);
	rig_assert_count(rig, jobs_opened, 4);

	/* All contexts are taken: refused, not held. */
	struct roce_frame fifth = join_of_new_job(rig, 4, 2);
	assert_refused(rig, 0, &fifth);
	rig_assert_count(rig, joins_held, 1);
}

/* One port holds three contexts alone; the fourth context goes to another port. */
static void test_last_context_is_anothers(void **state)
{
	struct rig *rig = *state;

	for (unsigned job = 0; job < 4; job++) {
		struct roce_frame join = join_of_new_job(rig, job, 2);

		rig_put(rig, job / 3, &join);
	}
	rig_assert_count(rig, jobs_opened, 4);
	rig_assert_count(rig, joins_held, 0);
}

static void test_refused_by_the_job(void **state)
{
	struct rig *rig = *state;
	struct roce_frame first = rig_control(rig, 0, 0, INA_WIRE_JOIN);
	const uint16_t two = 2;

	rig_put(rig, 0, &first);
	rig_assert_nothing(rig);

	/* A second rank on the same port. */
	struct roce_frame again = rig_control(rig, 1, 0, INA_WIRE_JOIN);
	assert_refused(rig, 0, &again);
	/* Another rank count. */
	struct roce_frame other = changed_join(rig, 1, RANK_COUNT_AT, &two, 2);
	assert_refused(rig, 1, &other);
	rig_assert_count(rig, joins_granted, 1);
}

/* Two of two have joined: a third port comes too late. */
static void test_refused_when_complete(void **state)
{
	struct rig *rig = *state;
	const uint16_t two = 2;

	for (unsigned rank = 0; rank < 3; rank++) {
		struct roce_frame join = changed_join(rig, rank, RANK_COUNT_AT, &two, 2);

		if (rank == 2)
			assert_refused(rig, rank, &join);
		else
			rig_put(rig, rank, &join);
	}
	rig_assert_count(rig, joins_granted, 2);
}

/* An invalid JOIN of an unknown flow is not even refused. */
static void test_no_join(void **state)
{
	struct rig *rig = *state;
	static const struct {
		unsigned at;
		uint8_t value;
	} changes[] = {{MESSAGE_AT, 0}, {MESSAGE_AT + 1, 0}, {MESSAGE_AT + 2, 2},
	               {TYPE_AT, 2},    {TYPE_AT, 3},        {42, SEND_FIRST}};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct roce_frame frame = changed_join(rig, 0, changes[i].at, &changes[i].value, 1);

		rig_put(rig, 0, &frame);
		rig_assert_passed(rig, 0, &frame);
	}
	struct roce_frame corrupted = rig_control(rig, 0, 0, INA_WIRE_JOIN);
	corrupted.bytes[corrupted.length - 1] ^= 1;
	rig_put(rig, 0, &corrupted);
	rig_assert_passed(rig, 0, &corrupted);
	rig_assert_count(rig, joins_refused, 0);
	rig_assert_count(rig, joins_granted, 0);
}

/* Ranks 0 and 1 have sent their packet 1. `odd` of rank 2 must break the job, and all packets leave
 * raw.
 */
static void assert_breaks(struct rig *rig, const struct roce_frame *odd)
{
	struct roce_frame sent[3];

	rig_join_all(rig);
	for (unsigned rank = 0; rank < 2; rank++) {
		sent[rank] = rig_data(rig, rank, 1, 7);
		rig_put(rig, rank, &sent[rank]);
		rig_assert_nothing(rig);
	}
	sent[2] = *odd;
	rig_put(rig, 2, odd);
	rig_assert_count(rig, jobs_broken, 1);
	rig_assert_count(rig, packets_raw, 3);
	rig_assert_count(rig, packets_joined, 3); /* the JOINs */
	assert_int_equal(rig->emitted_count, 3);
	for (unsigned port = 0; port < 3; port++) {
		assert_int_equal(rig->emitted[port].port, port);
		assert_int_equal(rig->emitted[port].frame.length, sent[port].length);
		assert_memory_equal(rig->emitted[port].frame.bytes, sent[port].bytes,
		                    sent[port].length);
	}

	/* From now on packets leave in order and raw, including retransmissions. */
	struct roce_frame next = rig_data(rig, 0, 2, 9);
	for (unsigned copy = 0; copy < 2; copy++) {
		rig_put(rig, 0, &next);
		assert_int_equal(rig->emitted_count, 1);
		assert_memory_equal(rig->emitted[0].frame.bytes, next.bytes, next.length);
	}
	rig_assert_count(rig, packets_raw, 4);

	/* The JOIN had been summed: it is only ever sent as a sum. */
	struct roce_frame join = rig_control(rig, 1, 0, INA_WIRE_JOIN);
	rig_put(rig, 1, &join);
	assert_int_equal(rig->emitted_count, 1);
	assert_int_equal(rig_contributors(&rig->emitted[0].frame), 3);
}

/* Every byte of the header that must be EQUAL. A packet with another job id is a suspect
 * instead. */
static void test_equal_lanes(void **state)
{
	(void)state;
	for (unsigned at = 0; at < 28; at++) {
		struct rig *rig = rig_open(3, WINDOW);
		struct roce_frame odd = rig_data(rig, 2, 1, 7);

		if (at == JOB_ID_AT - MESSAGE_AT)
			at += 8;
		odd.bytes[MESSAGE_AT + at] ^= 0x10;
		frame_seal(&odd);
		assert_breaks(rig, &odd);
		rig_close(rig);
	}
}

static void test_other_length(void **state)
{
	struct rig *rig = *state;
	struct roce_frame small = rig_data(rig, 2, 1, 7);
	uint8_t longer[80] = {0};

	memcpy(longer, small.bytes + MESSAGE_AT, 64);
	struct roce_frame odd = rig_frame(rig, 2, 1, SEND_ONLY, longer, sizeof(longer));
	assert_breaks(rig, &odd);
}

static void test_other_partition(void **state)
{
	struct rig *rig = *state;
	struct roce_frame odd = rig_data(rig, 2, 1, 7);

	odd.bytes[45] ^= 0x01; /* the lower byte of the P_Key */
	frame_seal(&odd);
	assert_breaks(rig, &odd);
}

static void test_other_opcode(void **state)
{
	struct rig *rig = *state;
	struct roce_frame small = rig_data(rig, 2, 1, 7);
	struct roce_frame odd = rig_frame(rig, 2, 1, SEND_FIRST, small.bytes + MESSAGE_AT, 64);

	assert_breaks(rig, &odd);
}

/* All ranks send the same value, but the aggregator does not know it, or it comes out of order. */
static void assert_all_break(unsigned at, uint8_t value, uint8_t opcode)
{
	struct rig *rig = rig_open(3, WINDOW);

	rig_join_all(rig);
	for (unsigned rank = 0; rank < 3; rank++) {
		struct roce_frame frame = rig_data(rig, rank, 1, 7);

		frame.bytes[MESSAGE_AT + at] = value;
		frame.bytes[42] = opcode;
		frame_seal(&frame);
		rig_put(rig, rank, &frame);
	}
	rig_assert_count(rig, jobs_broken, 1);
	rig_assert_count(rig, packets_raw, 3);
	rig_close(rig);
}

static void test_unknown_messages(void **state)
{
	(void)state;
	assert_all_break(0, 0, SEND_ONLY); /* magic */
	assert_all_break(2, 2, SEND_ONLY); /* version */
	assert_all_break(3, 0, SEND_ONLY); /* type */
	assert_all_break(3, 4, SEND_ONLY); /* type */
	assert_all_break(4, 0, SEND_ONLY); /* number type */
	assert_all_break(4, 5, SEND_ONLY); /* one past float16 */
	assert_all_break(5, 0, SEND_ONLY); /* operation */
	assert_all_break(5, 4, SEND_ONLY); /* one past min */
	assert_all_break(3, 3, SEND_ONLY); /* a LEAVE that is not 48 bytes long */
	assert_all_break(0, 0x49, SEND_MIDDLE);
	assert_all_break(0, 0x49, SEND_LAST);
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
			struct rig *rig = rig_open(3, WINDOW);

			aggregator_close(rig->aggregator);
			rig->aggregator = aggregator_open(&config, rig_collect, rig);
			assert_non_null(rig->aggregator);
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

static void test_first_within_message(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	for (unsigned index = 1; index < 3; index++)
		for (unsigned rank = 0; rank < 3; rank++) {
			struct roce_frame frame = rig_data(rig, rank, index, 7);

			frame.bytes[42] = SEND_FIRST;
			frame_seal(&frame);
			rig_put(rig, rank, &frame);
		}
	rig_assert_count(rig, packets_joined, 6);
	rig_assert_count(rig, jobs_broken, 1);
	rig_assert_count(rig, packets_raw, 3);
}

/* Too short for its opcode: passed, and the job breaks. */
static void test_ill_formed(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	struct roce_frame brief = rig_brief(rig, 1, 1, SEND_ONLY, 32);
	rig_put(rig, 1, &brief);
	rig_assert_passed(rig, 1, &brief);
	rig_assert_count(rig, jobs_broken, 1);
}

/* LEAVE before all ranks have joined: the aggregator no longer waits for the third one. */
static void test_early_leave(void **state)
{
	struct rig *rig = *state;
	struct roce_frame join[2], leave;

	for (unsigned rank = 0; rank < 2; rank++) {
		join[rank] = rig_control(rig, rank, 0, INA_WIRE_JOIN);
		rig_put(rig, rank, &join[rank]);
		rig_assert_nothing(rig);
	}
	leave = rig_control(rig, 0, 1, INA_WIRE_LEAVE);
	rig_put(rig, 0, &leave);
	rig_assert_count(rig, jobs_broken, 1);
	assert_int_equal(rig->emitted_count, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rig_contributors(&rig->emitted[i].frame), 1);

	/* The third rank's JOIN is refused; the job ends with the second rank's LEAVE. */
	struct roce_frame late = rig_control(rig, 2, 0, INA_WIRE_JOIN);
	assert_refused(rig, 2, &late);
	rig_assert_count(rig, jobs_closed, 0);
	leave = rig_control(rig, 1, 1, INA_WIRE_LEAVE);
	rig_put(rig, 1, &leave);
	rig_assert_count(rig, jobs_closed, 1);
}

/* LEAVEs are summed. Then the flows are unknown, and may join again with any PSN. */
static void test_life_after_leave(void **state)
{
	struct rig *rig = *state;

	for (unsigned life = 0; life < 10; life++) {
		rig_join_all(rig);
		for (unsigned rank = 0; rank < 3; rank++) {
			struct roce_frame leave = rig_control(rig, rank, 1, INA_WIRE_LEAVE);

			rig_put(rig, rank, &leave);
		}
		assert_int_equal(rig->emitted_count, 3);
		assert_int_equal(rig_contributors(&rig->emitted[0].frame), 3);
		rig_assert_count(rig, jobs_closed, life + 1);
		struct roce_frame stranger = rig_data(rig, 0, 2, 5);
		rig_put(rig, 0, &stranger);
		rig_assert_passed(rig, 0, &stranger);
	}
}

/* Two jobs on the same ports do not affect each other. */
static void test_two_jobs(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	for (unsigned rank = 0; rank < 3; rank++) {
		struct roce_frame join = changed_join(rig, rank, JOB_ID_AT + 7, "\x77", 1);

		join.bytes[48] = 0x55;
		frame_seal(&join);
		rig_put(rig, rank, &join);
	}
	assert_int_equal(rig->emitted_count, 3);
	for (unsigned rank = 0; rank < 3; rank++) {
		struct roce_frame bad = rig_data(rig, rank, 1, 0);

		bad.bytes[48] = 0x55;
		bad.bytes[MESSAGE_AT] = 0; /* wrong magic, by all ranks of the second job */
		bad.bytes[JOB_ID_AT + 7] = 0x77;
		frame_seal(&bad);
		rig_put(rig, rank, &bad);
	}
	rig_assert_count(rig, jobs_broken, 1);
	for (unsigned rank = 0; rank < 3; rank++) {
		struct roce_frame good = rig_data(rig, rank, 1, 5);

		rig_put(rig, rank, &good);
	}
	assert_int_equal(rig->emitted_count, 3);
	assert_int_equal(rig_element(&rig->emitted[0].frame), 15);
}

#define with_three(test) cmocka_unit_test_setup_teardown(test, open_three, close_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        with_three(test_refused_numbers),
	        with_three(test_refused_for_want_of_contexts),
	        with_three(test_held),
	        with_three(test_last_context_is_anothers),
	        with_three(test_refused_by_the_job),
	        with_three(test_refused_when_complete),
	        with_three(test_no_join),
	        cmocka_unit_test(test_equal_lanes),
	        with_three(test_other_length),
	        with_three(test_other_partition),
	        with_three(test_other_opcode),
	        cmocka_unit_test(test_unknown_messages),
	        cmocka_unit_test(test_what_an_aggregator_lacks),
	        with_three(test_first_within_message),
	        with_three(test_ill_formed),
	        with_three(test_early_leave),
	        with_three(test_past_a_gap_before_the_join),
	        with_three(test_life_after_leave),
	        with_three(test_two_jobs),
	};
	return cmocka_run_group_tests_name("breaking", tests, NULL, NULL);
}
