/* SPDX-License-Identifier: Apache-2.0 */
/* A link's times, with the times that the test gives: a delay, and a frame that is reordered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim-bridge/switch/cable_direction.h"

enum { FRAMES = 20, MS = 1000000, BEGIN_NS = 7 * MS };

struct rig {
	struct frame_pool pool;
	struct calendar calendar;
	struct link link;
	unsigned came;
	struct {
		uint64_t time_ns;
		uint8_t number;
	} frames[FRAMES];
};

static void deliver(void *context, unsigned port, uint64_t time_ns, struct frame *frame)
{
	struct rig *rig = context;

	assert_int_equal(port, 3);
	assert_true(rig->came < FRAMES);
	rig->frames[rig->came].time_ns = time_ns;
	rig->frames[rig->came].number = frame->bytes[frame->length - 1];
	rig->came++;
	frame_drop(frame);
}

static int set_up(void **state)
{
	static struct rig rig;

	rig = (struct rig){0};
	*state = &rig;
	return frame_pool_open(&rig.pool, FRAMES) != 0 || calendar_open(&rig.calendar, FRAMES) != 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	link_close(&rig->link);
	calendar_close(&rig->calendar);
	frame_pool_close(&rig->pool);
	return 0;
}

static void start(struct rig *rig, struct link_faults faults)
{
	link_init(&rig->link, 3, LINK_DOWN, 1, &faults, &rig->calendar, deliver, rig);
}

/* A RoCE packet, an RC Write Only, with its number in the last byte. */
static void put(struct rig *rig, uint64_t time_ns, uint8_t number)
{
	static const uint8_t udp[] = {0xC0, 0, 4791 >> 8, 4791 & 0xFF};
	struct frame *frame = frame_new(&rig->pool);

	assert_non_null(frame);
	frame->length = 70;
	memset(frame->bytes, 0, frame->length);
	frame->bytes[12] = 0x08; /* IPv4 */
	frame->bytes[14] = 0x45;
	frame->bytes[23] = 17;
	memcpy(frame->bytes + 34, udp, sizeof(udp));
	frame->bytes[42] = 10;
	frame->bytes[69] = number;
	frame_read(frame);
	link_put(&rig->link, time_ns, frame);
}

static void check(const struct rig *rig, unsigned index, uint64_t time_ns, uint8_t number)
{
	assert_true(index < rig->came);
	assert_int_equal(rig->frames[index].time_ns, time_ns);
	assert_int_equal(rig->frames[index].number, number);
}

/* Each frame separately: later ones do not wait for it. */
static void test_delay(void **state)
{
	struct rig *rig = *state;

	start(rig, (struct link_faults){.delay_ns = 50 * MS});
	for (uint8_t i = 0; i < FRAMES; i++)
		put(rig, BEGIN_NS + i, i);
	calendar_run(&rig->calendar, BEGIN_NS + 50 * MS - 1);
	assert_int_equal(rig->came, 0);
	calendar_run(&rig->calendar, BEGIN_NS + 51 * MS);
	assert_int_equal(rig->came, FRAMES);
	for (uint8_t i = 0; i < FRAMES; i++)
		check(rig, i, BEGIN_NS + 50 * MS + i, i);
}

/* No frame overtakes it: it leaves after 1 ms, and does not wait forever. */
static void test_reordered_alone(void **state)
{
	struct rig *rig = *state;

	start(rig, (struct link_faults){.reorder = 1});
	put(rig, BEGIN_NS, 5);
	calendar_run(&rig->calendar, BEGIN_NS + MS - 1);
	assert_int_equal(rig->came, 0);
	calendar_run(&rig->calendar, BEGIN_NS + MS);
	check(rig, 0, BEGIN_NS + MS, 5);
	assert_int_equal(rig->link.counts.reordered, 1);
	assert_int_equal(calendar_next(&rig->calendar), CALENDAR_NEVER);
}

/* One or two frames overtake it, without delay, and it follows them; its time limit then has no
 * effect. */
static void test_reordered_until_others_have_passed(void **state)
{
	struct rig *rig = *state;

	start(rig, (struct link_faults){.reorder = 1});
	put(rig, BEGIN_NS, 9);
	rig->link.faults.reorder = 0;
	for (uint8_t i = 0; i < 3; i++)
		put(rig, BEGIN_NS + 1 + i, i);
	assert_int_equal(rig->came, 4);
	check(rig, 0, BEGIN_NS + 1, 0);
	assert_true(rig->frames[1].number == 9 || rig->frames[2].number == 9);
	calendar_run(&rig->calendar, BEGIN_NS + 2 * MS);
	assert_int_equal(rig->came, 4);
}

/* Reordered, then delayed. */
static void test_reordered_and_delayed(void **state)
{
	struct rig *rig = *state;

	start(rig, (struct link_faults){.reorder = 1, .delay_ns = 3 * MS});
	put(rig, BEGIN_NS, 1);
	calendar_run(&rig->calendar, BEGIN_NS + 10 * MS);
	check(rig, 0, BEGIN_NS + 4 * MS, 1);
}

/* If a link has no room for a reordered frame, it overtakes the others. */
static void test_no_place_for_a_reordered_frame(void **state)
{
	struct rig *rig = *state;

	start(rig, (struct link_faults){.reorder = 1});
	for (uint8_t i = 0; i < LINK_REORDERED_MAX; i++)
		put(rig, BEGIN_NS, i);
	assert_int_equal(rig->came, 0);
	put(rig, BEGIN_NS, LINK_REORDERED_MAX);
	check(rig, 0, BEGIN_NS, LINK_REORDERED_MAX);
	calendar_run(&rig->calendar, BEGIN_NS + MS);
	assert_int_equal(rig->came, LINK_REORDERED_MAX + 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	        TEST(test_delay),
	        TEST(test_reordered_alone),
	        TEST(test_reordered_until_others_have_passed),
	        TEST(test_reordered_and_delayed),
	        TEST(test_no_place_for_a_reordered_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
