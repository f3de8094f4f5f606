/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that meet through an all-gather of the program. All ranks are threads of this process, and
 * need no RDMA device and no port of rank 0.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ina.h"

#define RANKS  5
#define WAIT_S 60 /* a test that takes longer hangs */

/* One all-gather; a rank's place in `all` is given by its own struct. */
struct meeting {
	pthread_barrier_t barrier;
	uint8_t all[RANKS * INA_EXCHANGE_BYTES];
	int code;    /* that the function returns */
	int swapped; /* these two ranks' bytes change places; 0: none do */
};

struct member {
	struct meeting *meeting;
	struct ina_options options;
	pthread_t thread;
	int calls;
	enum ina_status status;
	char why[INA_ERROR_SIZE];
	float sum;
};

static struct meeting meeting;
static struct member members[RANKS];

static int all_gather(void *context, const void *send, void *recv, size_t bytes)
{
	struct member *member = context;

	assert_int_equal(bytes, INA_EXCHANGE_BYTES);
	member->calls++;
	memcpy(meeting.all + (size_t)member->options.rank * bytes, send, bytes);
	pthread_barrier_wait(&meeting.barrier);
	memcpy(recv, meeting.all, RANKS * bytes);
	if (meeting.swapped) {
		memcpy(recv, meeting.all + bytes, bytes);
		memcpy((uint8_t *)recv + bytes, meeting.all, bytes);
	}
	return meeting.code;
}

static int prepare(void **state)
{
	(void)state;
	alarm(WAIT_S);
	memset(&meeting, 0, sizeof(meeting));
	memset(members, 0, sizeof(members));
	pthread_barrier_init(&meeting.barrier, NULL, RANKS);
	for (int r = 0; r < RANKS; r++) {
		ina_options_init(&members[r].options);
		members[r].options.rank = r;
		members[r].options.ranks = RANKS;
		members[r].options.exchange = all_gather;
		members[r].options.exchange_context = &members[r];
		members[r].options.open_timeout_ms = 20000;
	}
	return 0;
}

static int clean(void **state)
{
	(void)state;
	pthread_barrier_destroy(&meeting.barrier);
	return 0;
}

static void *be_rank(void *context)
{
	struct member *member = context;
	const float own = (float)(member->options.rank + 1);
	ina_comm *comm;

	member->status = ina_open(&member->options, &comm, member->why, sizeof(member->why));
	if (member->status != INA_OK)
		return NULL;
	member->status = ina_allreduce(comm, &own, &member->sum, 1, INA_FLOAT32, INA_SUM);
	ina_close(comm);
	return NULL;
}

static void run_all(void)
{
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(pthread_create(&members[r].thread, NULL, be_rank, &members[r]), 0);
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(pthread_join(members[r].thread, NULL), 0);
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(members[r].calls, 1);
}

static void all_fail(enum ina_status status, const char *why)
{
	for (int r = 0; r < RANKS; r++) {
		assert_int_equal(members[r].status, status);
		assert_non_null(strstr(members[r].why, why));
	}
}

static void ranks_meet(void **state)
{
	(void)state;
	run_all();
	for (int r = 0; r < RANKS; r++) {
		assert_string_equal(members[r].why, "");
		assert_int_equal(members[r].status, INA_OK);
		assert_true(members[r].sum == 15.0f);
	}
}

static void other_options(void **state)
{
	(void)state;
	members[3].options.window = 4;
	run_all();
	all_fail(INA_ERR_MISMATCH, "rank 3 has a window of 4 messages, rank 0 of 8");
}

static void a_rank_that_cannot_take_part(void **state)
{
	(void)state;
	members[2].options.device = "nothing0";
	run_all();
	all_fail(INA_ERR_DEVICE, "rank 2: ");
	all_fail(INA_ERR_DEVICE, "nothing0");
}

static void a_malformed_option(void **state)
{
	(void)state;
	members[4].options.message_bytes = 17;
	run_all();
	all_fail(INA_ERR_ARGUMENT, "rank 4: the option message_bytes is 17");
}

static void the_exchange_fails(void **state)
{
	(void)state;
	meeting.code = 7;
	run_all();
	all_fail(INA_ERR_SYSTEM, "the program's exchange between the ranks failed with code 7");
}

static void ranks_in_a_wrong_order(void **state)
{
	(void)state;
	meeting.swapped = 1;
	run_all();
	all_fail(INA_ERR_ARGUMENT,
	         "the program's exchange returned rank 1's bytes in the place of rank 0's");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(ranks_meet, prepare, clean),
	        cmocka_unit_test_setup_teardown(other_options, prepare, clean),
	        cmocka_unit_test_setup_teardown(a_rank_that_cannot_take_part, prepare, clean),
	        cmocka_unit_test_setup_teardown(a_malformed_option, prepare, clean),
	        cmocka_unit_test_setup_teardown(the_exchange_fails, prepare, clean),
	        cmocka_unit_test_setup_teardown(ranks_in_a_wrong_order, prepare, clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
