/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several threads, including the library's own, and one communicator. There is a single rank. If a
 * test needs an all-reduce that takes some time, it uses an algorithm of this file.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "hostlib/engine/engine.h"

#define WAIT_S   90 /* a test that takes longer hangs */
#define GROUPS   3000
#define MEMBERS  8
#define MOVES    1000 /* steps of an all-reduce that never stops */
#define AT_ONCE  32   /* the most steps that one call makes */
#define TEXT_MAX 200

static ina_comm *comm;

/* The algorithm of this file: each step that the library requests makes progress. */
static struct {
	atomic_int moves; /* steps until now */
	atomic_int moves_due;
	int pause_us; /* of a step */
	bool is_under_way;
	bool tells; /* prints a line at its first step */
} slow;

static enum ina_status slow_start(void *self, const struct ina_transfer *transfer,
                                  struct ina_failure *failure)
{
	(void)self;
	(void)transfer;
	(void)failure;
	slow.is_under_way = true;
	return INA_OK;
}

static enum ina_status slow_advance(void *self, bool before_wait, bool *moved,
                                    struct ina_failure *failure)
{
	(void)self;
	(void)before_wait;
	(void)failure;
	if (slow.tells)
		ina_log(&comm->log, "a step");
	slow.tells = false;
	usleep((useconds_t)slow.pause_us);
	*moved = slow.is_under_way;
	atomic_fetch_add(&slow.moves, *moved);
	return INA_OK;
}

static bool slow_is_done(const void *self)
{
	(void)self;
	return slow.is_under_way && atomic_load(&slow.moves) >= atomic_load(&slow.moves_due);
}

static bool slow_end(void *self, struct ina_stats *stats, uint64_t *until)
{
	(void)self;
	(void)stats;
	*until = 0;
	slow.is_under_way = false;
	return false;
}

static int slow_pollfds(const void *self, struct pollfd *fds)
{
	(void)self;
	(void)fds;
	return 0;
}

static void slow_nothing(void *self)
{
	(void)self;
}

static const struct ina_algorithm_row SLOW = {
        .start = slow_start,
        .advance = slow_advance,
        .is_done = slow_is_done,
        .end = slow_end,
        .abort = slow_nothing,
        .pollfds = slow_pollfds,
        .arm = slow_nothing,
};

/* The lines that the log function received, and the results of its calls. */
static struct {
	bool calls;
	atomic_int lines;
	int moves; /* steps of the all-reduce at the latest line */
	enum ina_status waits, closes, deregisters, starts;
	uint64_t calls_seen;
	char error[TEXT_MAX];
	ina_request *request;
	float sum;
} heard;

static void take_line(void *context, const char *line)
{
	static const float one = 1;
	struct ina_stats stats;
	char text[TEXT_MAX];
	float sum;

	(void)context;
	(void)line;
	if (heard.calls) {
		ina_comm_stats(comm, &stats, sizeof(stats));
		heard.calls_seen = stats.calls;
		ina_comm_explain(comm, text, sizeof(text));
		heard.waits = ina_allreduce(comm, &one, &sum, 1, INA_FLOAT32, INA_SUM);
		snprintf(heard.error, sizeof(heard.error), "%s", ina_error(comm));
		heard.closes = ina_close(comm);
		heard.deregisters = ina_deregister(comm, &sum, sizeof(sum));
		heard.starts = ina_allreduce_start(comm, &one, &heard.sum, 1, INA_FLOAT32, INA_SUM,
		                                   &heard.request);
	}
	heard.moves = atomic_load(&slow.moves);
	atomic_fetch_add(&heard.lines, 1);
}

static int open_one(bool thread)
{
	struct ina_options options;
	char why[INA_ERROR_SIZE] = "what the program had there";

	alarm(WAIT_S);
	memset(&slow, 0, sizeof(slow));
	memset(&heard, 0, sizeof(heard));
	ina_options_init(&options);
	options.progress_thread = thread;
	options.rank = 0;
	options.ranks = 1;
	options.log = take_line;
	return ina_open(&options, &comm, why, sizeof(why)) == INA_OK && why[0] == '\0' ? 0 : -1;
}

static int open_alone(void **state)
{
	(void)state;
	return open_one(false);
}

static int open_with_thread(void **state)
{
	(void)state;
	return open_one(true);
}

static int close_one(void **state)
{
	(void)state;
	return ina_close(comm) == INA_OK ? 0 : -1;
}

/* Before the first call, when no other thread reads the algorithm yet. */
static void use_slow(int moves, int pause_us)
{
	slow.moves_due = moves;
	slow.pause_us = pause_us;
	comm->algorithm = &SLOW;
}

/* One group after the other; each belongs to a thread that makes no other calls. */
static void *run_groups(void *first)
{
	int base = *(const int *)first;

	for (int i = 0; i < GROUPS; i++) {
		ina_request *requests[MEMBERS];
		int32_t send[MEMBERS];
		int32_t recv[MEMBERS] = {0};

		if (ina_group_start(comm) != INA_OK)
			return "ina_group_start";
		for (int m = 0; m < MEMBERS; m++) {
			send[m] = base + i + m;
			if (ina_allreduce_start(comm, &send[m], &recv[m], 1, INA_INT32, INA_SUM,
			                        &requests[m]) != INA_OK)
				return "ina_allreduce_start";
		}
		if (ina_group_end(comm) != INA_OK)
			return "ina_group_end";
		for (int m = 0; m < MEMBERS; m++) {
			if (ina_wait(requests[m]) != INA_OK || recv[m] != base + i + m)
				return "ina_wait";
		}
	}
	return NULL;
}

/* Calls that wait, and errors, until the groups have ended. */
static void *run_calls(void *stop)
{
	int32_t send = 0;
	int32_t recv;
	struct ina_stats stats;
	char text[TEXT_MAX];

	while (!atomic_load((atomic_bool *)stop)) {
		send++;
		if (ina_allreduce(comm, &send, &recv, 1, INA_INT32, INA_MAX) != INA_OK ||
		    recv != send)
			return "ina_allreduce";
		if (ina_allreduce(comm, NULL, &recv, 1, INA_INT32, INA_MAX) != INA_ERR_ARGUMENT ||
		    strlen(ina_error(comm)) == 0)
			return "ina_error";
		ina_comm_stats(comm, &stats, sizeof(stats));
		if (stats.calls == 0 || ina_comm_explain(comm, text, sizeof(text)) <= 0)
			return "ina_comm_stats";
	}
	return NULL;
}

static void a_group_has_the_calls_of_its_thread_alone(void **state)
{
	pthread_t threads[3];
	atomic_bool stop = false;
	int bases[2] = {1000, 500000};
	void *failed[3];

	(void)state;
	for (int t = 0; t < 2; t++)
		pthread_create(&threads[t], NULL, run_groups, &bases[t]);
	pthread_create(&threads[2], NULL, run_calls, &stop);
	for (int t = 0; t < 2; t++)
		pthread_join(threads[t], &failed[t]);
	atomic_store(&stop, true);
	pthread_join(threads[2], &failed[2]);
	for (int t = 0; t < 3; t++)
		assert_null(failed[t]);
}

/* It is refused before it is queued: the requests of the group are not changed. */
static void a_call_that_waits_is_refused_in_its_threads_group(void **state)
{
	const int32_t send[2] = {3, 4};
	int32_t recv[2] = {0};
	ina_request *requests[2];

	(void)state;
	assert_int_equal(ina_group_start(comm), INA_OK);
	assert_int_equal(ina_group_start(comm), INA_ERR_ARGUMENT);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ina_allreduce_start(comm, &send[i], &recv[i], 1, INA_INT32,
		                                     INA_SUM, &requests[i]),
		                 INA_OK);
		assert_int_equal(ina_barrier(comm), INA_ERR_ARGUMENT);
		assert_non_null(strstr(ina_error(comm), "cannot be part of a group"));
	}
	assert_int_equal(ina_group_end(comm), INA_OK);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ina_wait(requests[i]), INA_OK);
	assert_memory_equal(recv, send, sizeof(send));
	assert_int_equal(ina_group_end(comm), INA_ERR_ARGUMENT);
}

static void *fail_otherwise(void *ignored)
{
	(void)ignored;
	ina_group_end(comm);
	return strstr(ina_error(comm), "ina_group_end") ? NULL : "not this thread's error";
}

static void the_text_of_an_error_stays_while_others_fail(void **state)
{
	pthread_t thread;
	const char *text;
	void *failed;

	(void)state;
	assert_int_equal(ina_register(comm, NULL, 1), INA_ERR_ARGUMENT);
	text = ina_error(comm);
	assert_string_equal(text, "ina_register: the memory is NULL or has 0 bytes");
	pthread_create(&thread, NULL, fail_otherwise, NULL);
	pthread_join(thread, &failed);
	assert_null(failed);
	assert_string_equal(text, "ina_register: the memory is NULL or has 0 bytes");
	/* The latest error may be another thread's: the thread that prints it need not have made
	 * the call. */
	assert_non_null(strstr(ina_error(comm), "ina_group_end"));
}

static void expect_answers(void)
{
	assert_int_equal(heard.lines, 1);
	assert_in_range(heard.calls_seen, 0, 1);
	assert_int_equal(heard.waits, INA_ERR_ARGUMENT);
	assert_non_null(strstr(heard.error, "the log function cannot make a blocking call"));
	assert_int_equal(heard.closes, INA_ERR_ARGUMENT);
	assert_int_equal(heard.deregisters, INA_ERR_ARGUMENT);
	assert_int_equal(heard.starts, INA_OK);
	assert_int_equal(ina_wait(heard.request), INA_OK);
}

/* In the library's thread, or in the call that makes the progress. */
static void the_log_function_may_call_the_library(void **state)
{
	const float one = 1;
	float sum;

	(void)state;
	heard.lines = 0; /* counts from the opening */
	heard.calls = slow.tells = true;
	use_slow(3, 0);
	assert_int_equal(ina_allreduce(comm, &one, &sum, 1, INA_FLOAT32, INA_SUM), INA_OK);
	while (heard.lines == 0)
		usleep(1000);
	heard.calls = false;
	expect_answers();
}

/* The program gets the lines while it waits for the sum, not only afterwards. */
static void lines_do_not_wait_for_the_end_of_a_call(void **state)
{
	const float one = 1;
	float sum;

	(void)state;
	heard.lines = 0;
	slow.tells = true;
	use_slow(100, 0);
	assert_int_equal(ina_allreduce(comm, &one, &sum, 1, INA_FLOAT32, INA_SUM), INA_OK);
	assert_int_equal(heard.lines, 1);
	assert_in_range(heard.moves, 0, 2);
}

static void one_test_does_a_part_and_the_descriptor_tells_of_the_rest(void **state)
{
	struct pollfd fd = {.events = POLLIN};
	const float one = 1;
	ina_request *request;
	float sum;
	int done = 0;

	(void)state;
	use_slow(MOVES, 0);
	assert_int_equal(ina_comm_fd(comm, &fd.fd), INA_OK);
	assert_int_equal(ina_allreduce_start(comm, &one, &sum, 1, INA_FLOAT32, INA_SUM, &request),
	                 INA_OK);
	while (!done) {
		int before = slow.moves;

		assert_int_equal(ina_test(request, &done), INA_OK);
		assert_in_range(slow.moves - before, 1, AT_ONCE);
		/* A tick comes once in 500 ms. */
		assert_true(done || poll(&fd, 1, 100) == 1);
	}
	assert_int_equal(slow.moves, MOVES);
}

/* Each of these calls waits at most for the step that is under way, and only once. */
static void calls_do_not_wait_for_the_work_of_the_thread(void **state)
{
	const float one = 1;
	struct ina_stats stats;
	ina_request *request;
	float sum;
	int done = 0;

	(void)state;
	use_slow(MOVES, 200);
	assert_int_equal(ina_allreduce_start(comm, &one, &sum, 1, INA_FLOAT32, INA_SUM, &request),
	                 INA_OK);
	while (slow.moves == 0)
		usleep(1000);
	for (int i = 0; i < 8; i++) {
		int before = slow.moves;

		ina_comm_stats(comm, &stats, sizeof(stats));
		assert_in_range(slow.moves - before, 0, AT_ONCE);
		before = slow.moves;
		assert_int_equal(ina_test(request, &done), INA_OK);
		assert_in_range(slow.moves - before, 0, AT_ONCE);
		assert_int_equal(done, 0);
	}
	slow.moves_due = 0;
	assert_int_equal(ina_wait(request), INA_OK);
}

/* By their numbers in <asm/signal.h>: 4 ILL, 5 TRAP, 6 ABRT, 7 BUS, 8 FPE, 11 SEGV, 31 SYS. */
#define FAULTS (1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 10 | (uint64_t)1 << 30)
#define TERM   ((uint64_t)1 << 14)

/* Returns the faults that some thread blocks; counts the threads, and those that block SIGTERM. */
static uint64_t read_masks(int *threads, int *found)
{
	char command[TEXT_MAX];
	uint64_t blocked;
	uint64_t faults = 0;
	FILE *masks;

	*threads = *found = 0;
	snprintf(command, sizeof(command), "sed -n 's/^SigBlk:[ \\t]*//p' /proc/%d/task/*/status",
	         (int)getpid());
	masks = popen(command, "r");
	assert_non_null(masks);
	for (; fscanf(masks, "%" SCNx64, &blocked) == 1; ++*threads) {
		faults |= blocked & FAULTS;
		*found += (blocked & TERM) != 0;
	}
	pclose(masks);
	return faults;
}

static void the_thread_blocks_no_signal_of_its_own_faults(void **state)
{
	uint64_t faults;
	int threads;
	int found;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* the sanitizer has a thread that blocks all signals */
#endif
	/* The C library blocks all signals in a new thread until this first runs. */
	for (int tries = 0; (faults = read_masks(&threads, &found)) != 0 && tries < 1000; tries++)
		usleep(5000);
	assert_int_equal(faults, 0);
	/* The library's thread has the program's signals blocked; this thread does not. */
	assert_in_range(threads, 2, 8);
	assert_int_equal(found, 1);
}

static void no_communicator_is_an_error(void **state)
{
	struct ina_stats stats;
	struct ina_stats zero;
	ina_request *request = (ina_request *)&stats;
	char text[TEXT_MAX] = "as it was";
	int32_t x[2] = {0};
	int fd = 7;
	int done;

	(void)state;
	memset(&stats, 0xFF, sizeof(stats));
	memset(&zero, 0, sizeof(zero));
#define REFUSED(call) assert_int_equal(call, INA_ERR_ARGUMENT)
	REFUSED(ina_open(NULL, NULL, text, sizeof(text)));
	REFUSED(ina_allreduce(NULL, x, x, 1, INA_INT32, INA_SUM));
	REFUSED(ina_allreduce_start(NULL, x, x, 1, INA_INT32, INA_SUM, &request));
	assert_null(request);
	REFUSED(ina_reduce_scatter(NULL, x, x, 1, INA_INT32, INA_SUM));
	REFUSED(ina_reduce_scatter_start(NULL, x, x, 1, INA_INT32, INA_SUM, &request));
	REFUSED(ina_all_gather(NULL, x, x, 1, INA_INT32));
	REFUSED(ina_all_gather_start(NULL, x, x, 1, INA_INT32, &request));
	REFUSED(ina_broadcast(NULL, x, x, 1, INA_INT32, 0));
	REFUSED(ina_broadcast_start(NULL, x, x, 1, INA_INT32, 0, &request));
	REFUSED(ina_reduce(NULL, x, x, 1, INA_INT32, INA_SUM, 0));
	REFUSED(ina_reduce_start(NULL, x, x, 1, INA_INT32, INA_SUM, 0, &request));
	REFUSED(ina_barrier(NULL));
	REFUSED(ina_barrier_start(NULL, &request));
	REFUSED(ina_group_start(NULL));
	REFUSED(ina_group_end(NULL));
	REFUSED(ina_test(NULL, &done));
	REFUSED(ina_wait(NULL));
	REFUSED(ina_comm_fd(NULL, &fd));
	assert_int_equal(fd, -1);
	REFUSED(ina_register(NULL, x, sizeof(x)));
	REFUSED(ina_deregister(NULL, x, sizeof(x)));
#undef REFUSED
	ina_abort(NULL, "nothing");
	assert_int_equal(ina_close(NULL), INA_OK);
	assert_non_null(strstr(ina_error(NULL), "NULL"));
	ina_comm_stats(NULL, &stats, sizeof(stats));
	assert_memory_equal(&stats, &zero, sizeof(zero));
	ina_comm_stats(NULL, NULL, 0);
	assert_int_equal(ina_comm_explain(NULL, text, sizeof(text)), -1);
	assert_string_equal(text, "");
	assert_int_equal(ina_comm_rank(NULL), -1);
	assert_int_equal(ina_comm_ranks(NULL), -1);
}

int main(void)
{
#define ALONE(test)  cmocka_unit_test_setup_teardown(test, open_alone, close_one)
#define THREAD(test) cmocka_unit_test_setup_teardown(test, open_with_thread, close_one)
	const struct CMUnitTest tests[] = {
	        THREAD(a_group_has_the_calls_of_its_thread_alone),
	        ALONE(a_call_that_waits_is_refused_in_its_threads_group),
	        THREAD(a_call_that_waits_is_refused_in_its_threads_group),
	        THREAD(the_text_of_an_error_stays_while_others_fail),
	        ALONE(the_log_function_may_call_the_library),
	        THREAD(the_log_function_may_call_the_library),
	        ALONE(lines_do_not_wait_for_the_end_of_a_call),
	        ALONE(one_test_does_a_part_and_the_descriptor_tells_of_the_rest),
	        THREAD(calls_do_not_wait_for_the_work_of_the_thread),
	        THREAD(the_thread_blocks_no_signal_of_its_own_faults),
	        cmocka_unit_test(no_communicator_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
