/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks with go-back-N senders and in-order receivers, and a network that loses, duplicates and
 * damages frames on both sides. In spite of this, every receiver must end with the sum of every
 * message, once. Also, random bytes do no harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"

enum { RANKS_MAX = 8, WINDOW = 8, PACKETS = 300, TURNS_MAX = 200000, FAULT_PERCENT = 4 };

static unsigned seed_of_run(void)
{
	const char *given = getenv("INA_SEED");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 0) : 20231;

	print_message("INA_SEED=%u\n", seed);
	return seed;
}

static unsigned percent(unsigned *seed)
{
	return (unsigned)(rand_r(seed) >> 8) % 100;
}

struct world {
	struct rig *rig;
	unsigned seed;
	unsigned next_send[RANKS_MAX]; /* packet */
	unsigned received[RANKS_MAX];  /* packets of this sender that its successor has accepted */
	uint64_t wrong;
};

static int32_t element_of(unsigned rank, unsigned index)
{
	return (int32_t)((rank + 3) * 7919 * index);
}

static int32_t sum_of(const struct world *world, unsigned index)
{
	int32_t sum = 0;

	for (unsigned rank = 0; rank < world->rig->ranks; rank++)
		sum += element_of(rank, index);
	return sum;
}

/* The receiver of a sender's packets: it accepts intact packets that it expects, and ignores all
 * others. */
static void receive(struct world *world, const struct rig_emitted *emitted)
{
	const struct roce_frame *frame = &emitted->frame;
	unsigned sender = emitted->port;
	const unsigned psn_at = frame_bth_at(frame_form_of(frame->bytes)) + 9;
	const uint32_t psn = frame_number(frame->bytes + psn_at, 3);

	if (!frame_is_intact(frame->bytes, frame->length) ||
	    psn != ((RIG_FIRST_PSN + world->received[sender]) & 0xFFFFFF))
		return;
	unsigned index = world->received[sender]++;
	if (rig_contributors(frame) != world->rig->ranks ||
	    (index > 0 && rig_element(frame) != sum_of(world, index)))
		world->wrong++;
}

static void deliver(struct world *world)
{
	for (unsigned i = 0; i < world->rig->emitted_count; i++) {
		if (percent(&world->seed) < FAULT_PERCENT)
			continue;
		receive(world, &world->rig->emitted[i]);
	}
}

static void send_packet(struct world *world, unsigned rank, unsigned index)
{
	struct roce_frame frame = index ? rig_data(world->rig, rank, index, element_of(rank, index))
	                                : rig_control(world->rig, rank, 0, INA_WIRE_JOIN);
	unsigned fate = percent(&world->seed);

	if (fate < FAULT_PERCENT)
		return;
	if (fate < 2 * FAULT_PERCENT)
		frame.bytes[frame.length - 1 - (unsigned)rand_r(&world->seed) % 52] ^= 4;
	for (int copies = fate > 100 - FAULT_PERCENT ? 2 : 1; copies > 0; copies--) {
		rig_put(world->rig, rank, &frame);
		deliver(world);
	}
}

/* A turn of one rank: it sends a packet within its window, or sometimes goes back to the first
 * unacknowledged one.
 */
static void take_turn(struct world *world, unsigned rank)
{
	unsigned *next = &world->next_send[rank];
	/* A rank must not send more than a window ahead of the sums from its predecessor, */
	unsigned predecessor = (rank + world->rig->ranks - 1) % world->rig->ranks;
	unsigned limit = world->received[predecessor] + WINDOW;

	if (percent(&world->seed) < 10)
		*next = world->received[rank];
	if (*next < PACKETS && *next < limit && (*next == 0 || world->received[rank] > 0))
		send_packet(world, rank, (*next)++);
}

static void run_world(unsigned ranks, unsigned seed)
{
	struct world world = {.rig = rig_open(ranks, WINDOW), .seed = seed};
	unsigned turns = 0, done = 0;

	for (unsigned rank = 0; rank < ranks; rank++)
		world.rig->forms[rank] = frame_forms[(unsigned)rand_r(&world.seed) >> 8 & 3];
	while (done < ranks && turns++ < TURNS_MAX) {
		take_turn(&world, (unsigned)rand_r(&world.seed) % ranks);
		done = 0;
		for (unsigned rank = 0; rank < ranks; rank++)
			done += world.received[rank] == PACKETS;
	}
	assert_int_equal(done, ranks);
	assert_int_equal(world.wrong, 0);
	rig_assert_count(world.rig, packets_joined, PACKETS * ranks);
	rig_assert_count(world.rig, jobs_broken, 0);
	rig_close(world.rig);
}

static void test_exactly_once(void **state)
{
	unsigned seed = seed_of_run();

	(void)state;
	for (unsigned ranks = 2; ranks <= RANKS_MAX; ranks++)
		run_world(ranks, seed + ranks);
}

/* Damaged frames of a living job, and noise. The test only counts the frames that come out. */
static void test_any_bytes(void **state)
{
	unsigned seed = seed_of_run();
	struct rig *rig = rig_open(3, WINDOW);

	(void)state;
	for (unsigned rank = 0; rank < 3; rank++)
		rig->forms[rank] = frame_forms[rank + 1];
	rig_join_all(rig);
	for (unsigned round = 0; round < 30000; round++) {
		struct roce_frame frame =
		        rig_data(rig, round % 3, 1 + round / 3 % 20, (int32_t)round);
		unsigned flips = (unsigned)rand_r(&seed) % 4;

		while (flips-- > 0)
			frame.bytes[12 + (unsigned)rand_r(&seed) % (frame.length - 12)] =
			        (uint8_t)(rand_r(&seed) >> 8);
		if (percent(&seed) < 50)
			frame_seal(&frame);
		if (percent(&seed) < 20)
			frame.length = 1 + (size_t)rand_r(&seed) % ROCE_FRAME_BYTES_MAX;
		rig_put(rig, (unsigned)rand_r(&seed) % 3, &frame);
	}
	rig_assert_count(rig, frames_in, 30003);
	rig_close(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_exactly_once),
	        cmocka_unit_test(test_any_bytes),
	};
	return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
