/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/protocol.md, Several switches, packet by packet: a switch of level 1 with ranks 0 to 2 of
 * five at ports 0 to 2, and an uplink at port 3. tests/fabric tests whole fabrics.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"

enum {
	RANKS = 5,
	CHILDREN = 3,
	BORDER = 2,
	UPLINK = 3,
	DOWN = 4, /* the rank before rank 0 */
	SEND_ONLY = 4,
	SLOTS = 8,
	PROBE = 1 << 22,
	TRACE_BYTES = 96,
	QUIET_TICKS = 2,
};

static struct rig *open_leaf(uint64_t id)
{
	struct aggregator_config config = {
	        .ports = 4,
	        .jobs = 2,
	        .window_packets = SLOTS,
	        .has_quiet_time = true,
	        .has_patience = true,
	        .place = {.level = 1, .uplinks = 1 << UPLINK, .id = id},
	};
	struct rig *rig = rig_open_with(RANKS, config);

	for (unsigned i = 0; i < QUIET_TICKS; i++)
		aggregator_tick(rig->aggregator);
	return rig;
}

/* A JOIN: three children here, two at level 2, where the border and the down flow turn round. */
static struct roce_frame join_of(const struct rig *rig, unsigned rank, uint32_t contributors)
{
	struct roce_frame frame = rig_control(rig, rank, 0, INA_WIRE_JOIN);
	uint32_t place = (rank == BORDER || rank == DOWN ? 2u : 1u) << 24 | 2 << 8 | CHILDREN;

	memcpy(frame.bytes + FRAME_HEADER_BYTES + 24, &place, 4);
	memcpy(frame.bytes + FRAME_HEADER_BYTES + 32, &contributors, 4);
	frame_seal(&frame);
	return frame;
}

static struct roce_frame data_of(const struct rig *rig, unsigned rank, unsigned index,
                                 int32_t element, uint32_t contributors)
{
	struct roce_frame frame = rig_data(rig, rank, index, element);

	memcpy(frame.bytes + frame.length - 4 - 16, &contributors, 4);
	frame_seal(&frame);
	return frame;
}

/* All JOINs, from below and from above. */
static struct rig *open_job(void)
{
	struct rig *rig = open_leaf(0);

	for (unsigned rank = 0; rank < CHILDREN; rank++) {
		struct roce_frame join = join_of(rig, rank, 1);

		rig_put(rig, rank, &join);
		assert_int_equal(rig->emitted_count, rank == CHILDREN - 1);
	}
	assert_int_equal(rig->emitted[0].port, BORDER);
	assert_int_equal(rig_contributors(&rig->emitted[0].frame), CHILDREN);
	struct roce_frame join = join_of(rig, DOWN, RANKS);

	rig_put(rig, UPLINK, &join);
	assert_int_equal(rig->emitted_count, CHILDREN);
	for (unsigned i = 0; i < CHILDREN; i++) {
		assert_int_equal(rig->emitted[i].port, i < BORDER ? i : UPLINK);
		assert_int_equal(rig_contributors(&rig->emitted[i].frame), RANKS);
	}
	return rig;
}

/* Message 1 of each rank: 1, 10, 100. */
static void put_up(struct rig *rig)
{
	static const int32_t elements[CHILDREN] = {1, 10, 100};

	for (unsigned rank = 0; rank < CHILDREN; rank++) {
		struct roce_frame data = data_of(rig, rank, 1, elements[rank], 1);

		rig_put(rig, rank, &data);
		assert_int_equal(rig->emitted_count, rank == CHILDREN - 1);
	}
}

static void expect(const struct rig *rig, unsigned i, unsigned port, int32_t element,
                   uint32_t contributors)
{
	const struct roce_frame *frame = &rig->emitted[i].frame;

	assert_int_equal(rig->emitted[i].port, port);
	assert_int_equal(rig_element(frame), element);
	assert_int_equal(rig_contributors(frame), contributors);
	assert_true(frame_is_intact(frame->bytes, frame->length));
}

/* Puts a packet in, and expects an answer in its place. */
static void expect_answer(struct rig *rig, unsigned port, const struct roce_frame *frame,
                          int32_t element, uint32_t contributors)
{
	rig_put(rig, port, frame);
	assert_int_equal(rig->emitted_count, 1);
	expect(rig, 0, port, element, contributors);
}

static void test_up_and_down(void **state)
{
	struct rig *rig = open_job();

	(void)state;
	put_up(rig);
	expect(rig, 0, BORDER, 111, CHILDREN);
	struct roce_frame sum = data_of(rig, DOWN, 1, 5000, RANKS);

	rig_put(rig, UPLINK, &sum);
	assert_int_equal(rig->emitted_count, CHILDREN);
	for (unsigned i = 0; i < CHILDREN; i++)
		expect(rig, i, i < BORDER ? i : UPLINK, 5000, RANKS);
	rig_close(rig);
}

static uint32_t flags_of(const struct roce_frame *frame)
{
	uint32_t flags;

	memcpy(&flags, frame->bytes + frame->length - 4 - 12, 4);
	return flags;
}

/* Congestion on the way down is reported in the next message that goes up; packets that come down
 * are not changed.
 */
static void test_congestion(void **state)
{
	struct rig *rig = open_job();

	(void)state;
	put_up(rig);
	rig->tos = INA_WIRE_TRAFFIC_CLASS | 3;
	struct roce_frame sum = data_of(rig, DOWN, 1, 5000, RANKS);

	rig->tos = INA_WIRE_TRAFFIC_CLASS;
	rig_put(rig, UPLINK, &sum);
	assert_int_equal(rig->emitted_count, CHILDREN);
	for (unsigned i = 0; i < CHILDREN; i++)
		assert_int_equal(flags_of(&rig->emitted[i].frame), 0);
	for (unsigned index = 2; index < 4; index++) {
		for (unsigned rank = 0; rank < CHILDREN; rank++) {
			struct roce_frame data = data_of(rig, rank, index, 1, 1);

			rig_put(rig, rank, &data);
		}
		expect(rig, 0, BORDER, 3, CHILDREN);
		assert_int_equal(flags_of(&rig->emitted[0].frame), index == 2 ? 4 : 0);
	}
	rig_close(rig);
}

/* Before DOWN a local packet waits, and the border's part is known; after DOWN all are answered. */
static void test_retransmissions(void **state)
{
	struct rig *rig = open_job();
	struct roce_frame local = data_of(rig, 0, 1, -7, 1),
	                  border = data_of(rig, BORDER, 1, -7, 1);
	struct roce_frame sum = data_of(rig, DOWN, 1, 5000, RANKS);
	struct roce_frame other = data_of(rig, DOWN, 1, -7, CHILDREN);

	(void)state;
	put_up(rig);
	rig_put(rig, 0, &local);
	rig_assert_nothing(rig);
	expect_answer(rig, BORDER, &border, 111, CHILDREN);
	rig_put(rig, UPLINK, &sum);
	expect_answer(rig, 0, &local, 5000, RANKS);
	expect_answer(rig, BORDER, &border, 111, CHILDREN);
	expect_answer(rig, UPLINK, &other, 5000, RANKS);
	rig_close(rig);
}

/* Packets from above that come too early: a sum, and a JOIN. */
static void test_early(void **state)
{
	struct rig *rig = open_job();
	struct roce_frame sum = data_of(rig, DOWN, 1, 5000, RANKS);

	(void)state;
	rig_put(rig, UPLINK, &sum);
	rig_assert_nothing(rig);
	rig_close(rig);

	rig = open_leaf(0);
	struct roce_frame below = join_of(rig, 0, 1), above = join_of(rig, DOWN, RANKS);
	rig_put(rig, UPLINK, &above);
	rig_assert_passed(rig, UPLINK, &above);
	rig_put(rig, 0, &below);
	rig_put(rig, UPLINK, &above);
	rig_assert_nothing(rig);
	rig_close(rig);
}

/* Packets that wait for DOWN leave raw when the job breaks; the part that has gone up stays a
 * part. */
static void test_broken(void **state)
{
	struct rig *rig = open_job();
	struct roce_frame border = data_of(rig, BORDER, 1, -7, 1);
	struct roce_frame sum = data_of(rig, DOWN, 1, 5000, RANKS);
	struct roce_frame foul = rig_brief(rig, 1, 2, SEND_ONLY, 16);

	(void)state;
	put_up(rig);
	rig_put(rig, 1, &foul);
	assert_int_equal(rig->emitted_count, 3);
	expect(rig, 1, 0, 1, 1);
	expect(rig, 2, 1, 10, 1);
	expect_answer(rig, BORDER, &border, 111, CHILDREN);
	rig_put(rig, UPLINK, &sum);
	rig_assert_passed(rig, UPLINK, &sum);
	rig_close(rig);
}

/* All JOINs from below, with a window of SLOTS. */
static struct rig *open_below(void)
{
	struct rig *rig = open_leaf(0);

	for (unsigned rank = 0; rank < CHILDREN; rank++) {
		struct roce_frame join = join_of(rig, rank, 1);

		rig_put(rig, rank, &join);
	}
	return rig;
}

/* The JOINs were summed without this switch's grant, because the switch did not exist when the
 * first of them came.
 */
static void test_grants_more(void **state)
{
	struct rig *rig = open_below();
	struct roce_frame join = join_of(rig, DOWN, RANKS),
	                  far = data_of(rig, BORDER, 3 * SLOTS, 1, 1);
	int32_t lane = -2 * SLOTS;

	(void)state;
	memcpy(join.bytes + FRAME_HEADER_BYTES + 28, &lane, sizeof(lane));
	frame_seal(&join);
	rig_put(rig, UPLINK, &join);
	rig_assert_count(rig, jobs_broken, 1);
	assert_int_equal(rig->emitted_count, CHILDREN);
	for (unsigned i = 0; i < CHILDREN; i++) {
		assert_int_equal(rig->emitted[i].port, i < BORDER ? i : UPLINK);
		assert_int_equal(rig_contributors(&rig->emitted[i].frame), i < BORDER ? 1 : RANKS);
	}
	/* Other switches have granted more than this one has. */
	rig_put(rig, BORDER, &far);
	rig_assert_passed(rig, BORDER, &far);
	rig_close(rig);
}

/* The part would be the child's own packet: the switch takes no part in the job, and all packets
 * pass. */
static void test_single_child(void **state)
{
	struct rig *rig = open_leaf(0);
	struct roce_frame join = join_of(rig, BORDER, 1), above = join_of(rig, DOWN, RANKS);
	uint32_t place = 2u << 24 | 2 << 8 | 1;

	(void)state;
	memcpy(join.bytes + FRAME_HEADER_BYTES + 24, &place, sizeof(place));
	frame_seal(&join);
	rig_put(rig, BORDER, &join);
	rig_assert_passed(rig, BORDER, &join);
	rig_assert_count(rig, joins_refused, 1);
	rig_assert_count(rig, jobs_opened, 0);
	rig_put(rig, UPLINK, &above);
	rig_assert_passed(rig, UPLINK, &above);
	rig_close(rig);
}

/* Their sum has passed before. The border would not send more packets without it. */
static void test_late_join(void **state)
{
	struct rig *rig = open_below();
	struct roce_frame data = data_of(rig, BORDER, 1, 5, 1),
	                  ahead = data_of(rig, BORDER, 2, 5, 1);

	(void)state;
	rig_put(rig, BORDER, &data);
	rig_assert_count(rig, jobs_broken, 1);
	assert_int_equal(rig->emitted_count, CHILDREN);
	expect(rig, CHILDREN - 1, BORDER, 5, 1);
	rig_close(rig);

	rig = open_below();
	rig_put(rig, BORDER, &ahead);
	rig_assert_count(rig, jobs_broken, 1);
	assert_int_equal(rig->emitted_count, CHILDREN);
	expect(rig, 0, BORDER, 5, 1);
	rig_close(rig);
}

/*
 * At level 2 a history has two windows. A child that is broken continues to send with the sums that
 * all ranks have. It may be one window further than any receiver below it that lacks a sum.
 */
static void test_two_windows(void **state)
{
	struct aggregator_config config = {
	        .ports = 2, .jobs = 2, .window_packets = SLOTS, .place = {.level = 2}};
	struct rig *rig = rig_open_with(2, config);
	uint32_t place = 2u << 24 | 2 << 8;
	int32_t lane;

	(void)state;
	for (unsigned rank = 0; rank < 2; rank++) {
		struct roce_frame join = rig_control(rig, rank, 0, INA_WIRE_JOIN);

		memcpy(join.bytes + FRAME_HEADER_BYTES + 24, &place, sizeof(place));
		frame_seal(&join);
		rig_put(rig, rank, &join);
	}
	assert_int_equal(rig->emitted_count, 2);
	memcpy(&lane, rig->emitted[0].frame.bytes + FRAME_HEADER_BYTES + 28, sizeof(lane));
	assert_int_equal(lane, -SLOTS / 2);
	for (unsigned index = 1; index <= SLOTS; index++)
		for (unsigned rank = 0; rank < 2; rank++) {
			struct roce_frame data = rig_data(rig, rank, index, (int32_t)index);

			rig_put(rig, rank, &data);
		}
	struct roce_frame oldest = rig_data(rig, 0, 1, 7),
	                  older = rig_control(rig, 0, 0, INA_WIRE_JOIN);
	expect_answer(rig, 0, &oldest, 2, 2);
	rig_put(rig, 0, &older);
	assert_int_equal(rig->emitted_count, 1);
	rig_assert_count(rig, duplicates_answered, 1);
	rig_assert_count(rig, duplicates_old, 1);
	rig_close(rig);
}

/* Another switch's probe passes if it can come at this place, and not otherwise. */
static void put_to_nothing(struct rig *rig, unsigned port, const struct roce_frame *frame)
{
	rig_put(rig, port, frame);
	rig_assert_nothing(rig);
}

/*
 * When all ranks have left a broken job, none of its packets passes for a quiet time: if the
 * network still holds a part, a raw packet after it would be taken for a part. In this time its id
 * and its connections cannot be used again.
 */
static void test_left(void **state)
{
	struct rig *rig = open_job();
	struct roce_frame foul = rig_brief(rig, 1, 2, SEND_ONLY, 16);
	struct roce_frame join = join_of(rig, 0, 1);

	(void)state;
	put_up(rig);
	rig_put(rig, 1, &foul);
	for (unsigned rank = 0; rank < CHILDREN; rank++) {
		struct roce_frame leave = rig_control(rig, rank, 2, INA_WIRE_LEAVE);

		rig_put(rig, rank, &leave);
		rig_assert_passed(rig, rank, &leave);
	}
	for (unsigned tick = 0; tick < QUIET_TICKS; tick++) {
		for (unsigned rank = 0; rank < CHILDREN; rank++) {
			struct roce_frame data = data_of(rig, rank, 1, 1, 1);

			put_to_nothing(rig, rank, &data);
		}
		struct roce_frame sum = data_of(rig, DOWN, 1, 5000, RANKS);

		put_to_nothing(rig, UPLINK, &sum);
		put_to_nothing(rig, 0, &join);
		rig_assert_count(rig, jobs_closed, 1);
		rig_assert_count(rig, quiet_dropped, (tick + 1) * (CHILDREN + 2));
		aggregator_tick(rig->aggregator);
	}
	struct roce_frame data = data_of(rig, BORDER, 1, -7, 1);

	rig_put(rig, BORDER, &data);
	rig_assert_passed(rig, BORDER, &data);
	rig_close(rig);
}

/*
 * The sum of all LEAVEs lacks a rank: a switch elsewhere was reset, and a receiver below that
 * switch may still wait for sums. This switch keeps the job for a quiet time, like a broken one.
 */
static void test_left_without_a_rank(void **state)
{
	(void)state;
	for (unsigned lacking = 0; lacking < 2; lacking++) {
		struct rig *rig = open_job();
		struct roce_frame data = data_of(rig, BORDER, 1, -7, 1);

		for (unsigned rank = 0; rank < CHILDREN; rank++) {
			struct roce_frame leave = rig_control(rig, rank, 1, INA_WIRE_LEAVE);

			rig_put(rig, rank, &leave);
		}
		struct roce_frame leave = rig_control(rig, DOWN, 1, INA_WIRE_LEAVE);
		const uint32_t contributors = RANKS - lacking;

		memcpy(leave.bytes + FRAME_HEADER_BYTES + 32, &contributors, 4);
		frame_seal(&leave);
		rig_put(rig, UPLINK, &leave);
		assert_int_equal(rig->emitted_count, CHILDREN);
		rig_assert_count(rig, jobs_closed, 1);
		rig_assert_count(rig, jobs_broken, lacking);
		for (unsigned tick = 0; lacking && tick < QUIET_TICKS; tick++) {
			put_to_nothing(rig, BORDER, &data);
			aggregator_tick(rig->aggregator);
		}
		rig_put(rig, BORDER, &data);
		rig_assert_passed(rig, BORDER, &data);
		rig_close(rig);
	}
}

static void test_probes(void **state)
{
	struct rig *rig = open_job();
	struct roce_frame above = rig_data(rig, DOWN, 1 + PROBE, 0);
	struct roce_frame below = rig_data(rig, 0, 1 + PROBE, 0);

	(void)state;
	rig_put(rig, UPLINK, &above);
	rig_assert_passed(rig, UPLINK, &above);
	memset(above.bytes + FRAME_HEADER_BYTES, 0, above.length - FRAME_HEADER_BYTES);
	frame_seal(&above);
	rig_put(rig, UPLINK, &above); /* a probe has zeros in place of a job id */
	rig_assert_passed(rig, UPLINK, &above);
	rig_put(rig, 0, &below);
	rig_assert_nothing(rig);
	rig_assert_count(rig, suspects_dropped, 1);
	struct roce_frame join = rig_control(rig, DOWN, 1 + PROBE, INA_WIRE_JOIN);
	rig_put(rig, UPLINK, &join);
	rig_assert_nothing(rig);
	rig_assert_count(rig, suspects_dropped, 2);

	/* Probes keep no job alive. */
	aggregator_age(rig->aggregator);
	rig_put(rig, UPLINK, &above);
	aggregator_age(rig->aggregator);
	rig_assert_count(rig, jobs_expired, 1);
	rig_close(rig);
}

static struct roce_frame trace_of(const struct rig *rig)
{
	struct ina_wire_header header = {
	        .magic = INA_WIRE_MAGIC,
	        .version = INA_WIRE_VERSION,
	        .type = INA_WIRE_TRACE,
	        .length_bytes = INA_WIRE_LEVELS * sizeof(struct ina_wire_trace_slot),
	};
	struct ina_wire_trace_slot slots[INA_WIRE_LEVELS] = {{0}};
	uint8_t message[TRACE_BYTES];

	assert_int_equal(message_make(message, &header, slots, 0), TRACE_BYTES);
	return rig_frame(rig, 0, 0, SEND_ONLY, message, TRACE_BYTES);
}

/* The same JOIN for another job and connection. */
static struct roce_frame of_another_job(struct roce_frame join, uint8_t number)
{
	join.bytes[FRAME_HEADER_BYTES + 8] ^= (uint8_t)(number + 1);  /* job id */
	join.bytes[FRAME_HEADER_BYTES - 5] ^= (uint8_t)(number + 64); /* destination QPN */
	frame_seal(&join);
	return join;
}

/* "Jobs that had a context before this one": only the top writes it, so a part does not have it. */
static void test_before(void **state)
{
	struct rig *rig = open_leaf(0);
	struct roce_frame join = of_another_job(join_of(rig, 1, 1), 0);

	(void)state;
	rig_put(rig, 1, &join);
	for (unsigned rank = 0; rank < CHILDREN; rank++) {
		join = join_of(rig, rank, 1);
		rig_put(rig, rank, &join);
	}
	assert_int_equal(rig->emitted_count, 1);
	assert_int_equal(rig_contributors(&rig->emitted[0].frame), CHILDREN);
	assert_int_equal(flags_of(&rig->emitted[0].frame), 0);
	rig_close(rig);
}

static void test_trace(void **state)
{
	struct rig *rig = open_leaf(0x1122334455667788);
	struct roce_frame trace = trace_of(rig), written = trace, damaged = trace, filled = trace;
	uint8_t slot[16] = {0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 2};

	(void)state;
	for (slot[12] = 0; slot[12] < 3; slot[12]++) { /* jobs */
		struct roce_frame join = join_of(rig, 0, 1);

		memcpy(written.bytes + FRAME_HEADER_BYTES + 32, slot, sizeof(slot));
		frame_seal(&written);
		rig_put(rig, 2, &trace);
		rig_assert_passed(rig, 2, &written);
		join = of_another_job(join, slot[12]);
		rig_put(rig, slot[12], &join);
	}
	slot[12] = 2; /* as many jobs as contexts */
	rig_put(rig, UPLINK, &trace);
	rig_assert_passed(rig, UPLINK, &trace);
	damaged.bytes[FRAME_HEADER_BYTES + 90] ^= 1;
	rig_put(rig, 2, &damaged);
	rig_assert_passed(rig, 2, &damaged);
	filled.bytes[FRAME_HEADER_BYTES + 32 + 15] = 1; /* its slot is not empty */
	frame_seal(&filled);
	rig_put(rig, 2, &filled);
	rig_assert_passed(rig, 2, &filled);
	rig_close(rig);

	rig = open_leaf(0);
	rig_put(rig, 2, &trace);
	rig_assert_passed(rig, 2, &trace);
	rig_close(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_up_and_down),
	        cmocka_unit_test(test_congestion),
	        cmocka_unit_test(test_retransmissions),
	        cmocka_unit_test(test_early),
	        cmocka_unit_test(test_broken),
	        cmocka_unit_test(test_single_child),
	        cmocka_unit_test(test_grants_more),
	        cmocka_unit_test(test_late_join),
	        cmocka_unit_test(test_two_windows),
	        cmocka_unit_test(test_left),
	        cmocka_unit_test(test_left_without_a_rank),
	        cmocka_unit_test(test_probes),
	        cmocka_unit_test(test_before),
	        cmocka_unit_test(test_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
