/* SPDX-License-Identifier: Apache-2.0 */
/* The time-to-live of jobs: which jobs expire, the packets that wait in them, and the contexts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"

enum {
	JOBS = 4, /* contexts of a rig */
	JOB_ID_AT = FRAME_HEADER_BYTES + 8,
	QPN_LOW_AT = 49,
	WRITE_ONLY = 10,
};

static int open_three(void **state)
{
	*state = rig_open(3, 8);
	return 0;
}

static int close_rig(void **state)
{
	rig_close(*state);
	return 0;
}

/* A JOIN of another job, on a separate connection. */
static struct roce_frame join_of(const struct rig *rig, unsigned rank, uint8_t job)
{
	struct roce_frame join = rig_control(rig, rank, 0, INA_WIRE_JOIN);

	join.bytes[JOB_ID_AT] = job;
	join.bytes[QPN_LOW_AT] = job;
	frame_seal(&join);
	return join;
}

static void age(struct rig *rig)
{
	rig->emitted_count = 0;
	aggregator_age(rig->aggregator);
}

/* The jobs of all contexts lose their hosts; afterwards there is room again. */
static void test_dead_jobs(void **state)
{
	struct rig *rig = *state;

	for (unsigned job = 0; job < JOBS; job++)
		for (unsigned rank = 0; rank < 3; rank++) {
			struct roce_frame join = join_of(rig, rank, (uint8_t)(0x80 + job));

			rig_put(rig, rank, &join);
		}
	struct roce_frame fifth = join_of(rig, 0, 0x90);
	rig_put(rig, 0, &fifth);
	rig_assert_passed(rig, 0, &fifth);
	age(rig); /* because they sent a packet */
	rig_assert_count(rig, jobs_expired, 0);
	age(rig);
	rig_assert_nothing(rig);
	rig_assert_count(rig, jobs_expired, JOBS);
	rig_assert_count(rig, jobs_broken, JOBS);
	rig_assert_count(rig, jobs_closed, JOBS);
	rig_put(rig, 0, &fifth);
	rig_assert_nothing(rig);
	rig_assert_count(rig, joins_granted, 3 * JOBS + 1);
	rig_assert_count(rig, joins_refused, 1);
}

/* Packets that wait for a dead rank leave raw, in order, and all others pass. */
static void test_waiting_goes_raw(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	for (unsigned index = 1; index <= 2; index++)
		for (unsigned rank = 0; rank < 2; rank++) {
			struct roce_frame data =
			        rig_data(rig, rank, index, (int32_t)(10 * rank + index));

			rig_put(rig, rank, &data);
			rig_assert_nothing(rig);
		}
	age(rig);
	rig_assert_nothing(rig);
	age(rig);
	assert_int_equal(rig->emitted_count, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(rig->emitted[i].port, i / 2);
		assert_int_equal(rig_element(&rig->emitted[i].frame), 10 * (i / 2) + i % 2 + 1);
		assert_int_equal(rig_contributors(&rig->emitted[i].frame), 1);
	}
	rig_assert_count(rig, packets_raw, 4);
	rig_assert_count(rig, jobs_closed, 1);
	struct roce_frame late = rig_data(rig, 2, 1, 5);
	rig_put(rig, 2, &late);
	rig_assert_passed(rig, 2, &late);
}

/* A retransmission, or a packet past a gap, of one rank keeps the job alive. */
static void test_any_packet_keeps_it(void **state)
{
	struct rig *rig = *state;
	struct roce_frame frames[2];

	rig_join_all(rig);
	frames[0] = rig_control(rig, 1, 0, INA_WIRE_JOIN);
	frames[1] = rig_data(rig, 1, 3, 0);
	age(rig);
	for (unsigned i = 0; i < 12; i++) {
		rig_put(rig, 1, &frames[i % 2]);
		age(rig);
		rig_assert_count(rig, jobs_expired, 0);
	}
	age(rig);
	rig_assert_count(rig, jobs_expired, 1);
}

/*
 * Three kinds of packets do not keep it alive: answers of the flow's host to its predecessor,
 * packets of other connections to the same destination, and damaged packets. A live host may send
 * each of them indefinitely.
 */
static void test_others_do_not_keep_it(void **state)
{
	struct rig *rig = *state;
	struct roce_frame frames[6];

	rig_join_all(rig);
	frames[0] = rig_frame(rig, 1, 1, 0x11, "abcd", 4);
	frames[1] = rig_data(rig, 1, 1, 0);
	frames[1].bytes[QPN_LOW_AT] ^= 0x40;
	frame_seal(&frames[1]);
	frames[2] = rig_data(rig, 1, 1, 0);
	frames[2].bytes[frames[2].length - 1] ^= 1;
	frames[3] = rig_frame(rig, 1, 1, WRITE_ONLY, "0123456789abcdef", 16);
	frames[4] = rig_data(rig, 1, 0x1000, 0);
	frames[5] = join_of(rig, 1, RIG_QPN + 1);
	age(rig);
	for (unsigned i = 0; i < 6; i++)
		rig_put(rig, 1, &frames[i]);
	rig_assert_count(rig, icrc_dropped, 1);
	rig_assert_count(rig, suspects_dropped, 3);
	rig_assert_count(rig, jobs_expired, 0);
	age(rig);
	rig_assert_count(rig, jobs_expired, 1);
}

/*
 * A job that lacks a rank's JOIN expires whatever the other ranks send again, because the missing
 * rank may not exist. A JOIN of a further rank keeps it alive. Once all ranks have joined, any
 * packet does.
 */
static void test_half_open(void **state)
{
	struct rig *rig = *state;
	struct roce_frame joins[3];

	for (unsigned rank = 0; rank < 3; rank++)
		joins[rank] = join_of(rig, rank, 0x80);
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
}

/* A job that waits for one rank's JOIN, and a broken job that waits for a LEAVE. */
static void test_unfinished_jobs(void **state)
{
	struct rig *rig = *state;
	struct roce_frame join = join_of(rig, 0, 0x80), other = join_of(rig, 0, 0x81);
	struct roce_frame leave = rig_control(rig, 0, 1, INA_WIRE_LEAVE);
	struct roce_frame other_1 = join_of(rig, 1, 0x81);

	rig_put(rig, 0, &join);
	rig_put(rig, 0, &other);
	rig_put(rig, 1, &other_1);
	leave.bytes[QPN_LOW_AT] = 0x81;
	leave.bytes[JOB_ID_AT] = 0x81;
	frame_seal(&leave);
	rig_put(rig, 0, &leave); /* before all have joined */
	rig_assert_count(rig, jobs_broken, 1);
	age(rig);
	age(rig);
	rig_assert_count(rig, jobs_expired, 2);
	rig_assert_count(rig, jobs_broken, 1);
	rig_assert_count(rig, jobs_closed, 2);
	rig_assert_nothing(rig); /* the first one's JOIN is lost */
}

#define with_three(test) cmocka_unit_test_setup_teardown(test, open_three, close_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        with_three(test_dead_jobs),           with_three(test_waiting_goes_raw),
	        with_three(test_any_packet_keeps_it), with_three(test_others_do_not_keep_it),
	        with_three(test_half_open),           with_three(test_unfinished_jobs),
	};
	return cmocka_run_group_tests_name("expiry", tests, NULL, NULL);
}
