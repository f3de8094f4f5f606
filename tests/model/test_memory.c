/* SPDX-License-Identifier: Apache-2.0 */
/* docs/protocol.md, The window: what is asked for, what is granted, and what the JOINs' sum says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"

enum { WINDOW_AT = FRAME_HEADER_BYTES + 28, PLACE_AT = FRAME_HEADER_BYTES + 24 };

static struct frame join_of(const struct rig *rig, unsigned rank, uint32_t asked)
{
	struct frame join = rig_control(rig, rank, 0, INA_WIRE_JOIN);
	uint32_t lane = 0u - asked;

	memcpy(join.bytes + WINDOW_AT, &lane, sizeof(lane));
	frame_seal(&join);
	return join;
}

static uint32_t window_of(const struct frame *join)
{
	uint32_t lane;

	memcpy(&lane, join->bytes + WINDOW_AT, sizeof(lane));
	return 0u - lane;
}

/* The grant is the largest power of two that fits both; the sum has the smallest of all. */
static void test_granted(void **state)
{
	static const struct {
		unsigned slots;
		uint32_t asked[2], window;
	} cases[] = {
	        {128, {128, 128}, 128},  {128, {1, 1}, 1},     {128, {127, 127}, 64},
	        {128, {64, 100}, 64},    {128, {100, 33}, 33}, {128, {100, 5000}, 64},
	        {128, {5000, 100}, 100}, {8, {100, 100}, 8},   {8, {0x80000000, 0x80000000}, 8},
	        {8, {0x7FFFFFFF, 3}, 3}, {100, {90, 90}, 64},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig *rig = rig_open(2, cases[i].slots);

		for (unsigned rank = 0; rank < 2; rank++) {
			struct frame join = join_of(rig, rank, cases[i].asked[rank]);

			rig_put(rig, rank, &join);
		}
		assert_int_equal(rig->emitted_count, 2);
		for (unsigned rank = 0; rank < 2; rank++) {
			const struct frame *sum = &rig->emitted[rank].frame;
			uint32_t icrc = frame_icrc(sum);

			assert_int_equal(window_of(sum), cases[i].window);
			assert_memory_equal(sum->bytes + sum->length - 4, &icrc, 4);
		}
		/* Its history says the same. */
		struct frame again = join_of(rig, 1, cases[i].asked[1]);

		rig_put(rig, 1, &again);
		assert_int_equal(rig->emitted_count, 1);
		assert_int_equal(window_of(&rig->emitted[0].frame), cases[i].window);
		rig_close(rig);
	}
}

/* A lower switch puts its grant into the part; what comes from above is handed on as it is. */
static void test_granted_by_each_switch(void **state)
{
	static const struct {
		uint32_t asked, part, from_above;
	} cases[] = {{100, 8, 8}, {100, 8, 4}, {100, 8, 5}, {3, 2, 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct aggregator_config config = {
		        .ports = 3,
		        .jobs = 2,
		        .window_packets = 8,
		        .place = {.level = 1, .uplinks = 1 << 2},
		};
		struct rig *rig = rig_open(3, 8);

		aggregator_close(rig->aggregator);
		rig->aggregator = aggregator_open(&config, rig_collect, rig);
		assert_non_null(rig->aggregator);
		for (unsigned rank = 0; rank < 3; rank++) {
			struct frame join =
			        join_of(rig, rank, rank < 2 ? cases[i].asked : cases[i].from_above);
			uint32_t place = (rank == 0 ? 1u : 2u) << 24 | 2 << 8 | 2;

			memcpy(join.bytes + PLACE_AT, &place, sizeof(place));
			frame_seal(&join);
			rig_put(rig, rank, &join);
			if (rank == 1) {
				assert_int_equal(rig->emitted_count, 1);
				assert_int_equal(rig->emitted[0].port, 1);
				assert_int_equal(window_of(&rig->emitted[0].frame), cases[i].part);
			}
		}
		assert_int_equal(rig->emitted_count, 2);
		for (unsigned out = 0; out < 2; out++)
			assert_int_equal(window_of(&rig->emitted[out].frame), cases[i].from_above);
		rig_close(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_granted),
	        cmocka_unit_test(test_granted_by_each_switch),
	};
	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
