/* SPDX-License-Identifier: Apache-2.0 */
/* A single rank, through the public calls: they copy, and their descriptor never makes the rank
 * wait. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ina.h"

static ina_comm *comm;

static int open_one(int progress_thread)
{
	struct ina_options options;
	char why[INA_ERROR_SIZE];

	ina_options_init(&options);
	options.progress_thread = progress_thread;
	options.rank = 0;
	options.ranks = 1;
	return ina_open(&options, &comm, why, sizeof(why)) == INA_OK ? 0 : -1;
}

static int open_alone(void **state)
{
	(void)state;
	return open_one(0);
}

static int open_with_thread(void **state)
{
	(void)state;
	return open_one(1);
}

static int close_alone(void **state)
{
	(void)state;
	return ina_close(comm) == INA_OK ? 0 : -1;
}

static void the_result_is_the_contribution(void **state)
{
	const int32_t send[3] = {1, -2, 3};
	int32_t recv[3] = {0};
	struct ina_stats stats;

	(void)state;
	assert_int_equal(ina_allreduce(comm, send, recv, 3, INA_INT32, INA_SUM), INA_OK);
	assert_memory_equal(recv, send, sizeof(send));
	assert_int_equal(ina_allreduce(comm, recv, recv, 3, INA_INT32, INA_MAX), INA_OK);
	assert_memory_equal(recv, send, sizeof(send));
	assert_int_equal(ina_allreduce(comm, NULL, NULL, 0, INA_INT32, INA_MIN), INA_OK);
	ina_comm_stats(comm, &stats, sizeof(stats));
	assert_int_equal(stats.calls, 3);
	assert_int_equal(stats.registrations, 0);
}

/* A program whose ina.h has fewer statistics: nothing is written past its struct. */
static void shorter_statistics(void **state)
{
	struct ina_stats stats;
	const size_t known = offsetof(struct ina_stats, calls) + sizeof(stats.calls);

	(void)state;
	assert_int_equal(ina_barrier(comm), INA_OK);
	memset(&stats, 0xA5, sizeof(stats));
	ina_comm_stats(comm, &stats, known);
	assert_int_equal(stats.calls, 1);
	for (size_t i = known; i < sizeof(stats); i++)
		assert_int_equal(((unsigned char *)&stats)[i], 0xA5);
}

static void so_it_is_of_every_collective(void **state)
{
	const double send[3] = {1, -2, 3};
	double recv[3];

	(void)state;
#define COPIES(call)                                                                               \
	do {                                                                                       \
		memset(recv, 0, sizeof(recv));                                                     \
		assert_int_equal(call, INA_OK);                                                    \
		assert_memory_equal(recv, send, sizeof(send));                                     \
	} while (0)
	COPIES(ina_allreduce(comm, send, recv, 3, INA_FLOAT64, INA_AVG));
	COPIES(ina_reduce_scatter(comm, send, recv, 3, INA_FLOAT64, INA_PROD));
	COPIES(ina_all_gather(comm, send, recv, 3, INA_FLOAT64));
	COPIES(ina_broadcast(comm, send, recv, 3, INA_FLOAT64, 0));
	COPIES(ina_reduce(comm, send, recv, 3, INA_FLOAT64, INA_SUM, 0));
	assert_int_equal(ina_barrier(comm), INA_OK);
	assert_int_equal(ina_broadcast(comm, send, recv, 3, INA_FLOAT64, 1), INA_ERR_ARGUMENT);
}

static void groups_end(void **state)
{
	float numbers[4] = {1, 2, 3, 4};
	ina_request *requests[4];

	(void)state;
	assert_int_equal(ina_group_start(comm), INA_OK);
	for (int i = 0; i < 4; i++)
		assert_int_equal(ina_allreduce_start(comm, &numbers[i], &numbers[i], 1, INA_FLOAT32,
		                                     INA_SUM, &requests[i]),
		                 INA_OK);
	assert_int_equal(ina_group_end(comm), INA_OK);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(ina_wait(requests[i]), INA_OK);
		assert_float_equal(numbers[i], i + 1, 0);
	}
}

/* A request that was started before ends with the error, and so does one that is started
 * afterwards. */
static void an_abort_ends_it(void **state)
{
	float number = 1;
	ina_request *request;

	(void)state;
	assert_int_equal(ina_group_start(comm), INA_OK);
	assert_int_equal(
	        ina_allreduce_start(comm, &number, &number, 1, INA_FLOAT32, INA_SUM, &request),
	        INA_OK);
	ina_abort(comm, "enough");
	ina_abort(comm, "more than enough");
	assert_int_equal(ina_barrier(comm), INA_ERR_ABORTED);
	assert_string_equal(ina_error(comm), "rank 0 aborted: enough");
	assert_int_equal(ina_group_end(comm), INA_ERR_ABORTED);
	assert_int_equal(ina_wait(request), INA_ERR_ABORTED);
	ina_abort(NULL, NULL);
}

static void its_descriptor_is_always_readable(void **state)
{
	const float send[2] = {1, 2};
	float recv[2];
	struct pollfd poll_fd = {.events = POLLIN};
	ina_request *requests[2];
	int done = 0;

	(void)state;
	assert_int_equal(ina_comm_fd(comm, &poll_fd.fd), INA_OK);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ina_allreduce_start(comm, send, recv, 2, INA_FLOAT32, INA_SUM,
		                                     &requests[i]),
		                 INA_OK);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(poll(&poll_fd, 1, 100), 1);
		assert_int_equal(ina_test(requests[i], &done), INA_OK);
		assert_true(done);
	}
	assert_memory_equal(recv, send, sizeof(send));
}

static void memory_is_registered_by_nobody(void **state)
{
	char memory[64];

	(void)state;
	assert_int_equal(ina_register(comm, memory, sizeof(memory)), INA_OK);
	assert_int_equal(ina_deregister(comm, memory, sizeof(memory)), INA_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(the_result_is_the_contribution, open_alone,
	                                        close_alone),
	        cmocka_unit_test_setup_teardown(shorter_statistics, open_alone, close_alone),
	        cmocka_unit_test_setup_teardown(so_it_is_of_every_collective, open_alone,
	                                        close_alone),
	        cmocka_unit_test_setup_teardown(so_it_is_of_every_collective, open_with_thread,
	                                        close_alone),
	        cmocka_unit_test_setup_teardown(groups_end, open_alone, close_alone),
	        cmocka_unit_test_setup_teardown(groups_end, open_with_thread, close_alone),
	        cmocka_unit_test_setup_teardown(an_abort_ends_it, open_alone, close_alone),
	        cmocka_unit_test_setup_teardown(its_descriptor_is_always_readable, open_alone,
	                                        close_alone),
	        cmocka_unit_test_setup_teardown(memory_is_registered_by_nobody, open_alone,
	                                        close_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
