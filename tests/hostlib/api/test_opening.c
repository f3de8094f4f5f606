/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ina_open_start(): several openings in one thread, and openings that are closed, that fail or that
 * time out. All ranks are in this process, and need no RDMA device.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../bootstrap/free_port.h"
#include "common/deadline.h"
#include "ina.h"

#define RANKS   3
#define WAIT_S  60 /* a test that takes longer hangs */
#define LONG_MS 30000
#define SOON_MS 5000

static char root[32];
static struct ina_options options;
static ina_comm *comms[RANKS];
static ina_request *requests[RANKS];

static int prepare(void **state)
{
	(void)state;
	alarm(WAIT_S);
	snprintf(root, sizeof(root), "127.0.0.1:%u", free_port());
	ina_options_init(&options);
	options.ranks = RANKS;
	options.root = root;
	options.open_timeout_ms = LONG_MS;
	return 0;
}

static void start(int rank)
{
	options.rank = rank;
	assert_int_equal(ina_open_start(&options, &comms[rank], &requests[rank]), INA_OK);
	assert_non_null(comms[rank]);
	assert_non_null(requests[rank]);
}

static void start_all(void)
{
	for (int r = 0; r < RANKS; r++)
		start(r);
}

/* Tests all requests in turn until they have finished. */
static void finish_all(enum ina_status statuses[RANKS])
{
	int done[RANKS] = {0};
	int count = 0;

	while (count < RANKS) {
		for (int r = 0; r < RANKS; r++) {
			if (done[r])
				continue;
			statuses[r] = ina_test(requests[r], &done[r]);
			count += done[r];
		}
		usleep(1000);
	}
}

static void *close_one(void *comm)
{
	return ina_close(comm) == INA_OK ? NULL : "ina_close";
}

/* Closing waits for all ranks. */
static void close_all(void)
{
	pthread_t threads[RANKS];
	void *failed;

	for (int r = 0; r < RANKS; r++)
		assert_int_equal(pthread_create(&threads[r], NULL, close_one, comms[r]), 0);
	for (int r = 0; r < RANKS; r++) {
		pthread_join(threads[r], &failed);
		assert_null(failed);
	}
}

static void add_up(void)
{
	int32_t send[RANKS];
	int32_t recv[RANKS] = {0};
	enum ina_status statuses[RANKS];

	for (int r = 0; r < RANKS; r++) {
		send[r] = r + 1;
		assert_int_equal(ina_allreduce_start(comms[r], &send[r], &recv[r], 1, INA_INT32,
		                                     INA_SUM, &requests[r]),
		                 INA_OK);
	}
	finish_all(statuses);
	for (int r = 0; r < RANKS; r++) {
		assert_int_equal(statuses[r], INA_OK);
		assert_int_equal(recv[r], RANKS * (RANKS + 1) / 2);
	}
}

static void one_thread_opens_all_ranks(void **state)
{
	enum ina_status statuses[RANKS];

	for (int thread = 0; thread <= 1; thread++) {
		prepare(state);
		options.progress_thread = thread;
		start_all();
		finish_all(statuses);
		for (int r = 0; r < RANKS; r++) {
			assert_int_equal(statuses[r], INA_OK);
			assert_int_equal(ina_comm_rank(comms[r]), r);
		}
		add_up();
		close_all();
	}
}

static void *open_blocking(void *comm)
{
	struct ina_options own = options;
	char why[INA_ERROR_SIZE];

	own.rank = RANKS - 1;
	return ina_open(&own, comm, why, sizeof(why)) == INA_OK ? NULL : "ina_open";
}

static void some_ranks_may_wait_in_ina_open(void **state)
{
	pthread_t thread;
	void *failed;

	(void)state;
	for (int r = 0; r < RANKS - 1; r++)
		start(r);
	assert_int_equal(pthread_create(&thread, NULL, open_blocking, &comms[RANKS - 1]), 0);
	for (int r = 0; r < RANKS - 1; r++)
		assert_int_equal(ina_wait(requests[r]), INA_OK);
	pthread_join(thread, &failed);
	assert_null(failed);
	add_up();
	close_all();
}

/* No other thread of the library uses the communicator before the opening has ended. */
static void other_calls_get_an_error_until_then(void **state)
{
	struct ina_stats stats;
	char text[8] = "before";
	ina_request *request;
	int32_t x = 1;
	int done;

	(void)state;
	start(1);
	assert_int_equal(ina_allreduce(comms[1], &x, &x, 1, INA_INT32, INA_SUM), INA_ERR_ARGUMENT);
	assert_string_equal(ina_error(comms[1]), "the communicator is not open yet");
	assert_int_equal(ina_barrier_start(comms[1], &request), INA_ERR_ARGUMENT);
	assert_null(request);
	assert_int_equal(ina_group_start(comms[1]), INA_ERR_ARGUMENT);
	assert_int_equal(ina_register(comms[1], &x, sizeof(x)), INA_ERR_ARGUMENT);
	assert_int_equal(ina_deregister(comms[1], &x, sizeof(x)), INA_ERR_ARGUMENT);
	memset(&stats, 0xFF, sizeof(stats));
	ina_comm_stats(comms[1], &stats, sizeof(stats));
	assert_int_equal(stats.machines, 0);
	assert_int_equal(ina_comm_explain(comms[1], text, sizeof(text)), 0);
	assert_string_equal(text, "");
	assert_int_equal(ina_comm_rank(comms[1]), 1);
	assert_int_equal(ina_comm_ranks(comms[1]), RANKS);
	assert_int_equal(ina_test(requests[1], &done), INA_OK);
	assert_false(done);
	assert_int_equal(ina_close(comms[1]), INA_OK);
}

/* The same as after a call of ina_open(): the error names the address at which rank 0 was called.
 */
static void an_opening_times_out(void **state)
{
	char where[100];
	int64_t start_ms = ina_now_ms();

	(void)state;
	options.open_timeout_ms = 300;
	start(1);
	assert_in_range(ina_now_ms() - start_ms, 0, 200);
	assert_int_equal(ina_wait(requests[1]), INA_ERR_TIMEOUT);
	assert_in_range(ina_now_ms() - start_ms, 300, SOON_MS);
	snprintf(where, sizeof(where), "rank 0 could not be reached at %s within 300 ms", root);
	assert_non_null(strstr(ina_error(comms[1]), where));
	assert_int_equal(ina_barrier(comms[1]), INA_ERR_TIMEOUT);
	assert_int_equal(ina_close(comms[1]), INA_OK);
}

/* The descriptor is also readable twice a second, as that of every communicator. */
static void the_descriptor_tells_of_the_end(void **state)
{
	struct pollfd fd = {.events = POLLIN};
	int64_t start_ms = ina_now_ms();
	int looks = 0;
	int done = 0;

	(void)state;
	options.open_timeout_ms = 1700;
	start(1);
	assert_int_equal(ina_comm_fd(comms[1], &fd.fd), INA_OK);
	while (!done && ina_test(requests[1], &done) == INA_OK && !done) {
		assert_int_equal(poll(&fd, 1, 2000), 1);
		looks++;
	}
	assert_true(done);
	assert_in_range(looks, 3, 6);
	assert_in_range(ina_now_ms() - start_ms, 1700, 1700 + 300);
	assert_int_equal(ina_close(comms[1]), INA_OK);
	/* the descriptor of a communicator that opened serves its calls */
	prepare(state);
	start_all();
	assert_int_equal(ina_comm_fd(comms[0], &fd.fd), INA_OK);
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(ina_wait(requests[r]), INA_OK);
	add_up();
	close_all();
}

static void expect_failures(enum ina_status expected, const char *text)
{
	enum ina_status statuses[RANKS];

	finish_all(statuses);
	for (int r = 0; r < RANKS; r++) {
		assert_int_equal(statuses[r], expected);
		if (!strstr(ina_error(comms[r]), text))
			fail_msg("rank %d: %s", r, ina_error(comms[r]));
		assert_int_equal(ina_close(comms[r]), INA_OK);
	}
}

/* The rank reports to the others why it cannot take part. */
static void all_hear_of_a_rank_that_fails(void **state)
{
	(void)state;
	start(0);
	start(1);
	options.window = 1000;
	start(2);
	expect_failures(INA_ERR_ARGUMENT, "window");
}

/* A rank that is closed before rank 0 has come, and rank 0 before the others have. */
static void closing_stops_an_opening(void **state)
{
	(void)state;
	for (int r = 0; r < 2; r++) {
		int64_t start_ms = ina_now_ms();

		start(r);
		usleep(100000);
		assert_int_equal(ina_close(comms[r]), INA_OK);
		assert_in_range(ina_now_ms() - start_ms, 100, SOON_MS);
	}
}

/* Another process may still come as the rank, so the others wait for one. */
static void another_process_may_come_after_a_rank_was_closed(void **state)
{
	enum ina_status statuses[RANKS];

	(void)state;
	start(0);
	start(1);
	usleep(300000);
	assert_int_equal(ina_close(comms[1]), INA_OK);
	start(1);
	start(2);
	finish_all(statuses);
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(statuses[r], INA_OK);
	close_all();
}

static void all_hear_that_rank_0_was_stopped(void **state)
{
	enum ina_status statuses[RANKS];
	ina_request *first;

	(void)state;
	start(0);
	first = requests[0];
	start(1);
	usleep(300000);
	ina_abort(comms[0], "enough");
	assert_int_equal(ina_wait(first), INA_ERR_ABORTED);
	assert_string_equal(ina_error(comms[0]), "rank 0 aborted: enough");
	statuses[1] = ina_wait(requests[1]);
	assert_int_equal(statuses[1], INA_ERR_ABORTED);
	assert_string_equal(ina_error(comms[1]), "rank 0: the program stopped the opening");
	for (int r = 0; r < 2; r++)
		assert_int_equal(ina_close(comms[r]), INA_OK);
}

static void *abort_one(void *comm)
{
	ina_abort(comm, "at any moment");
	return NULL;
}

/* The thread sanitizer sees whether ina_abort() meets a progress thread that is half started. */
static void a_thread_may_abort_at_any_moment(void **state)
{
	pthread_t thread;
	enum ina_status status;

	(void)state;
	options.ranks = 1;
	options.progress_thread = 1;
	for (int round = 0; round < 50; round++) {
		start(0);
		assert_int_equal(pthread_create(&thread, NULL, abort_one, comms[0]), 0);
		status = ina_wait(requests[0]);
		assert_true(status == INA_OK || status == INA_ERR_ABORTED);
		pthread_join(thread, NULL);
		status = ina_close(comms[0]);
		assert_true(status == INA_OK || status == INA_ERR_ABORTED);
	}
}

static void errors_of_the_call_itself(void **state)
{
	ina_comm *comm = (ina_comm *)&options;
	ina_request *request = (ina_request *)&options;
	int fd;

	(void)state;
	assert_int_equal(ina_open_start(&options, NULL, &request), INA_ERR_ARGUMENT);
	assert_null(request);
	assert_int_equal(ina_open_start(&options, &comm, NULL), INA_ERR_ARGUMENT);
	assert_null(comm);
	/* the request reports an error of the options */
	options.rank = 0;
	options.ranks = 1;
	options.window = 1000;
	assert_int_equal(ina_open_start(&options, &comm, &request), INA_OK);
	assert_string_equal(ina_error(comm), "");
	assert_int_equal(ina_wait(request), INA_ERR_ARGUMENT);
	assert_non_null(strstr(ina_error(comm), "window"));
	assert_int_not_equal(ina_comm_fd(comm, &fd), INA_OK);
	assert_int_equal(fd, -1);
	assert_int_equal(ina_close(comm), INA_OK);
}

static int lines;

static void take_line(void *context, const char *line)
{
	ina_comm *comm = *(ina_comm **)context;

	(void)line;
	lines++;
	assert_int_equal(ina_close(comm), INA_ERR_ARGUMENT);
}

/* In the thread that finishes the request, with the communicator as it is then. */
static void the_log_function_runs_in_the_programs_thread(void **state)
{
	ina_comm *comm;
	ina_request *request;

	(void)state;
	options.rank = 0;
	options.ranks = 1;
	options.log = take_line;
	options.log_context = &comm;
	assert_int_equal(ina_open_start(&options, &comm, &request), INA_OK);
	usleep(100000);
	assert_int_equal(lines, 0);
	assert_int_equal(ina_wait(request), INA_OK);
	assert_int_equal(lines, 1);
	options.log = NULL;
	assert_int_equal(ina_close(comm), INA_OK);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup(test, prepare)
	const struct CMUnitTest tests[] = {
	        TEST(one_thread_opens_all_ranks),
	        TEST(some_ranks_may_wait_in_ina_open),
	        TEST(other_calls_get_an_error_until_then),
	        TEST(an_opening_times_out),
	        TEST(the_descriptor_tells_of_the_end),
	        TEST(all_hear_of_a_rank_that_fails),
	        TEST(closing_stops_an_opening),
	        TEST(another_process_may_come_after_a_rank_was_closed),
	        TEST(all_hear_that_rank_0_was_stopped),
	        TEST(a_thread_may_abort_at_any_moment),
	        TEST(errors_of_the_call_itself),
	        TEST(the_log_function_runs_in_the_programs_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
