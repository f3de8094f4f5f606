/* SPDX-License-Identifier: Apache-2.0 */
/* docs/protocol.md, The window: the window that is requested, the grant, and the sum of the JOINs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/memory.h"
#include "common/random.h"
#include "rig.h"

enum { WINDOW_AT = FRAME_HEADER_BYTES + 28, PLACE_AT = FRAME_HEADER_BYTES + 24 };

static struct roce_frame join_of(const struct rig *rig, unsigned rank, uint32_t asked)
{
	struct roce_frame join = rig_control(rig, rank, 0, INA_WIRE_JOIN);
	uint32_t lane = 0u - asked;

	memcpy(join.bytes + WINDOW_AT, &lane, sizeof(lane));
	frame_seal(&join);
	return join;
}

static uint32_t window_of(const struct roce_frame *join)
{
	uint32_t lane;

	memcpy(&lane, join->bytes + WINDOW_AT, sizeof(lane));
	return 0u - lane;
}

/* The grant is the largest power of two that both allow; the sum has the smallest of all. */
static void test_granted(void **state)
{
	static const struct {
		unsigned slots;
		uint32_t asked[2], window;
	} cases[] = {
	        {128, {128, 128}, 128},  {128, {1, 1}, 1},     {128, {127, 127}, 64},
	        {128, {64, 100}, 64},    {128, {100, 33}, 33}, {128, {100, 5000}, 64},
	        {128, {5000, 100}, 100}, {8, {100, 100}, 8},   {8, {0x80000000, 0x80000000}, 8},
	        {8, {0x7FFFFFFF, 3}, 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig *rig = rig_open(2, cases[i].slots);

		for (unsigned rank = 0; rank < 2; rank++) {
			struct roce_frame join = join_of(rig, rank, cases[i].asked[rank]);

			rig_put(rig, rank, &join);
		}
		assert_int_equal(rig->emitted_count, 2);
		for (unsigned rank = 0; rank < 2; rank++) {
			const struct roce_frame *sum = &rig->emitted[rank].frame;

			assert_int_equal(window_of(sum), cases[i].window);
			assert_true(frame_is_intact(sum->bytes, sum->length));
		}
		/* The history gives the same number. */
		struct roce_frame again = join_of(rig, 1, cases[i].asked[1]);

		rig_put(rig, 1, &again);
		assert_int_equal(rig->emitted_count, 1);
		assert_int_equal(window_of(&rig->emitted[0].frame), cases[i].window);
		rig_close(rig);
	}
}

/* A lower switch puts its grant into the part; it hands on a JOIN from above unchanged. */
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
		struct rig *rig = rig_open_with(3, config);
		for (unsigned rank = 0; rank < 3; rank++) {
			struct roce_frame join =
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

/* A separate connection for each job of two ranks. */
static struct roce_frame join_job(const struct rig *rig, unsigned job, unsigned rank,
                                  uint32_t asked)
{
	struct roce_frame join = join_of(rig, rank, asked);

	join.bytes[FRAME_HEADER_BYTES + 8] = (uint8_t)job;
	join.bytes[49] = (uint8_t)(0x60 + 8 * job + rank);
	frame_seal(&join);
	return join;
}

static uint32_t granted_to(struct rig *rig, unsigned job, uint32_t asked)
{
	for (unsigned rank = 0; rank < 2; rank++) {
		struct roce_frame join = join_job(rig, job, rank, asked);

		rig_put(rig, rank, &join);
	}
	return rig->emitted_count == 2 ? window_of(&rig->emitted[0].frame) : 0;
}

/*
 * Jobs share the memory as they ask for it, but each free context keeps the smallest block, so no
 * job is refused while a context is free. At the end all memory is free.
 */
static void test_shared(void **state)
{
	struct aggregator_config config = {.ports = 2,
	                                   .jobs = 5,
	                                   .memory_packets = 16,
	                                   .window_packets = 8,
	                                   .grain_packets = 2};
	struct rig *rig = rig_open_with(2, config);

	(void)state;
	assert_int_equal(granted_to(rig, 0, 4), 4);
	assert_int_equal(granted_to(rig, 1, 100), 4);
	assert_int_equal(granted_to(rig, 2, 1), 1); /* it has a grain */
	assert_int_equal(granted_to(rig, 3, 8), 4);
	assert_int_equal(granted_to(rig, 4, 8), 2);
	rig_assert_count(rig, joins_refused, 0);
	assert_int_equal(granted_to(rig, 5, 8), 0);
	rig_assert_count(rig, joins_refused, 2);
	for (unsigned age = 0; age < 2; age++)
		aggregator_age(rig->aggregator);
	assert_int_equal(granted_to(rig, 5, 8), 8);
	for (unsigned job = 0; job < 4; job++)
		assert_int_equal(granted_to(rig, job, 8), 2);
	rig_assert_count(rig, joins_refused, 2);
	rig_close(rig);
}

/*
 * If ports or VLANs have a quota, a context has at most its share of the memory, so the memory of a
 * port or VLAN is limited too. A quota of all contexts does not limit anything.
 */
static void test_quota(void **state)
{
	static const struct {
		unsigned quota, vlan_quota, granted;
	} cases[] = {{0, 0, 8}, {3, 4, 8}, {4, 0, 8}, {1, 0, 4}, {2, 0, 4}, {0, 3, 4}, {0, 1, 4}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct aggregator_config config = {.ports = 2,
		                                   .jobs = 4,
		                                   .memory_packets = 16,
		                                   .window_packets = 16,
		                                   .grain_packets = 2,
		                                   .quota = cases[i].quota,
		                                   .vlan_quota = cases[i].vlan_quota};
		struct rig *rig = rig_open_with(2, config);
		assert_int_equal(granted_to(rig, 0, 100), cases[i].granted);
		rig_close(rig);
	}
}

/*
 * Blocks never overlap and are at the right places. Each is the largest that fits and leaves a
 * grain to each other holder.
 */
static void test_blocks(void **state)
{
	enum { PACKETS = 88, WINDOW = 32, GRAIN = 4, BLOCKS = 12 };
	struct memory_block blocks[BLOCKS] = {{0}};
	unsigned kept = 0, less = 0;
	uint64_t random = 1;
	struct memory memory;

	(void)state;
	assert_true(memory_open(&memory, BLOCKS, PACKETS, WINDOW, GRAIN));
	for (unsigned step = 0; step < 100000; step++) {
		unsigned at = (unsigned)(ina_random(&random) % BLOCKS), wanted = GRAIN;
		uint32_t asked = (uint32_t)(ina_random(&random) % (2 * WINDOW)) + 1;
		bool used[PACKETS] = {false};
		unsigned left = PACKETS, others = 0; /* packets; holders without a block */

		if (blocks[at].packets) {
			memory_give(&memory, blocks[at]);
			blocks[at].packets = 0;
			continue;
		}
		for (unsigned i = 0; i < BLOCKS; i++) {
			for (unsigned p = 0; p < blocks[i].packets; p++) {
				assert_false(used[blocks[i].base + p]);
				used[blocks[i].base + p] = true;
			}
			left -= blocks[i].packets;
			others += i != at && blocks[i].packets == 0;
		}
		while (2 * wanted <= asked && 2 * wanted <= WINDOW)
			wanted *= 2;
		unsigned largest = 0, fits = 0;

		for (unsigned size = GRAIN; size <= wanted; size *= 2)
			for (unsigned base = 0; base + size <= PACKETS; base += size) {
				unsigned free = 0;

				while (free < size && !used[base + free])
					free++;
				if (free == size)
					fits = size;
				if (free == size && left - size >= others * GRAIN)
					largest = size;
			}
		assert_true(largest > 0);
		blocks[at] = memory_take(&memory, asked);
		assert_int_equal(blocks[at].packets, largest);
		kept += largest < fits;
		less += fits < wanted;
		assert_int_equal(blocks[at].base % largest, 0);
		assert_true(blocks[at].base + largest <= PACKETS);
		for (unsigned p = 0; p < largest; p++)
			assert_false(used[blocks[at].base + p]);
	}
	assert_true(kept > 1000 && less > 1000);
	memory_close(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_granted), cmocka_unit_test(test_granted_by_each_switch),
	        cmocka_unit_test(test_shared),  cmocka_unit_test(test_quota),
	        cmocka_unit_test(test_blocks),
	};
	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
