/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's work outside all-reduces, on a fake device. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/deadline.h"
#include "fake_device.h"
#include "hostlib/engine/engine.h"

#define RANKS 2

static struct ina_comm *comm;
static uint8_t memory[4096];
static int other; /* rank 0's end of the control connection */

/* Rank 1, whose last all-reduce has completed except for the acknowledgement of its last send. */
static int open_comm(void **state)
{
	struct ina_options options;
	struct ina_settings settings;
	struct ina_failure failure;
	unsigned int entry;
	uint32_t lkey;
	int ends[2];

	(void)state;
	comm = calloc(1, sizeof(*comm));
	if (!comm || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0)
		return -1;
	ina_options_init(&options);
	options.rank = 1;
	options.ranks = RANKS;
	options.root = "127.0.0.1";
	options.timeout_ms = 10000;
	fake_open(&comm->network.transport, 1, RANKS);
	ina_control_init(&comm->control, 1, RANKS);
	if (ina_settings_make(&settings, &options, &failure) != INA_OK)
		return -1;
	ina_comm_init(comm, &settings);
	if (ina_network_open(&comm->network, &comm->control, &comm->settings, 7, &failure) !=
	            INA_OK ||
	    ina_memory_get(&comm->network.memory, memory, sizeof(memory), true, true, &entry,
	                   &lkey) != 0)
		return -1;
	ina_comm_use(comm, &ina_in_network_algorithm, &comm->network.innet);
	comm->turn.current = (struct ina_call){.kind = INA_CALL_ALLREDUCE, .number = 1};
	comm->network.innet.numbered = comm->network.innet.posted = 2;
	comm->network.innet.unacknowledged = 1;
	ina_memory_put_later(&comm->network.memory, entry, 2);
	ina_control_link(&comm->control, 0)->fd = ends[0];
	other = ends[1];
	return 0;
}

static int close_comm(void **state)
{
	(void)state;
	ina_memory_close(&comm->network.memory);
	ina_control_close(&comm->control);
	fake_close();
	if (other >= 0)
		close(other);
	free(comm);
	return 0;
}

/* Memory that the device may still read keeps its pages, but no later call finds the
 * registration. */
static void memory_that_was_registered_for_a_call_is_not_used_in_another(void **state)
{
	struct ina_memory *registered = &comm->network.memory;
	unsigned int entry;
	uint32_t lkey;

	(void)state;
	assert_non_null(registered->registrations[0].mr);
	assert_int_equal(ina_memory_get(registered, memory, 1, false, false, &entry, &lkey),
	                 ENOENT);
	assert_int_equal(ina_memory_get(registered, memory, 1, false, true, &entry, &lkey), 0);
	assert_int_not_equal(entry, 0);
	ina_memory_put(registered, entry);
	assert_null(registered->registrations[entry].mr);
}

/* Until then the caller's buffer belongs to the library: it is the same memory. */
static void calls_under_way_share_a_registration(void **state)
{
	struct ina_memory *registered = &comm->network.memory;
	unsigned int first;
	unsigned int second;
	uint32_t lkey;

	(void)state;
	ina_memory_get(registered, memory, sizeof(memory), false, true, &first, &lkey);
	assert_int_equal(ina_memory_get(registered, memory + 8, 8, false, true, &second, &lkey), 0);
	assert_int_equal(first, second);
	/* But memory that was registered for reading is not written. */
	assert_int_equal(ina_memory_get(registered, memory, 8, true, true, &second, &lkey), 0);
	assert_int_not_equal(first, second);
	ina_memory_put(registered, second);
	ina_memory_put(registered, first);
	assert_non_null(registered->registrations[first].mr);
	ina_memory_put(registered, first);
	assert_null(registered->registrations[first].mr);
}

/* No call waits for that, and no call uses it. */
static void deregistered_memory_is_given_up_when_it_is_acknowledged(void **state)
{
	struct ina_registration *registration = &comm->network.memory.registrations[0];
	unsigned int entry;
	uint32_t lkey;

	(void)state;
	registration->kept = true;
	assert_int_equal(
	        ina_memory_get(&comm->network.memory, memory, 1, true, false, &entry, &lkey), 0);
	ina_memory_put_later(&comm->network.memory, entry, 2);
	assert_int_equal(ina_deregister(comm, memory, sizeof(memory)), INA_OK);
	assert_non_null(registration->mr);
	assert_int_equal(
	        ina_memory_get(&comm->network.memory, memory, 1, true, false, &entry, &lkey),
	        ENOENT);
	ina_memory_release(&comm->network.memory, 1);
	assert_non_null(registration->mr);
	ina_memory_release(&comm->network.memory, 2);
	assert_null(registration->mr);
}

static void memory_that_the_device_keeps_is_not_forgotten(void **state)
{
	(void)state;
	ina_memory_release(&comm->network.memory, 2);
	assert_int_equal(ina_register(comm, memory, sizeof(memory)), INA_OK);
	fake.deregister_errors = 1;
	assert_int_equal(ina_deregister(comm, memory, sizeof(memory)), INA_ERR_DEVICE);
	assert_non_null(strstr(ina_error(comm), "cannot deregister"));
	assert_non_null(comm->network.memory.registrations[0].mr);
	assert_int_equal(ina_deregister(comm, memory, sizeof(memory)), INA_OK);
	assert_null(comm->network.memory.registrations[0].mr);
}

/* Only an error that a limit can cause names the limit. */
static void the_remedy_is_that_of_the_error(void **state)
{
	(void)state;
	fake.register_errno = EFAULT;
	assert_int_equal(ina_register(comm, memory, sizeof(memory)), INA_ERR_MEMORY);
	assert_null(strstr(ina_error(comm), "ulimit"));
	fake.register_errno = ENOMEM;
	assert_int_equal(ina_register(comm, memory, sizeof(memory)), INA_ERR_MEMORY);
	assert_non_null(strstr(ina_error(comm), "ulimit -l"));
	fake.register_errno = 0;
	assert_int_equal(ina_register(comm, memory, sizeof(memory)), INA_OK);
}

/* Another rank asks for this rank's report, and gets it. */
static struct ina_faults report(void)
{
	struct ina_link far = {.fd = other};
	struct ina_control_frame query = {.magic = INA_CONTROL_MAGIC, .type = INA_CONTROL_QUERY};

	assert_int_equal(ina_link_send(&far, &query, ina_now_ms() + 1000), 0);
	ina_comm_attend(comm);
	assert_int_equal(ina_link_read(&far), INA_LINK_FRAME);
	assert_int_equal(far.in.type, INA_CONTROL_FAULTS);
	assert_int_equal(far.in.faults.calls.count, 1);
	return far.in.faults;
}

/* A rank outside of all calls says so. Its next call may be any, so it differs from none. */
static void who_is_asked_between_calls_is_in_none(void **state)
{
	struct ina_faults faults = report();

	(void)state;
	assert_int_equal(faults.status, INA_OK);
	assert_int_equal(faults.calls.called[0].current.kind, INA_CALL_NONE);
	assert_int_equal(faults.calls.called[0].current.number, 1);
	assert_int_equal(faults.calls.called[0].previous.kind, INA_CALL_ALLREDUCE);
	assert_int_equal(faults.calls.called[0].previous.number, 1);
}

static void who_is_asked_before_its_first_call_is_in_none(void **state)
{
	struct ina_faults faults;

	(void)state;
	comm->turn.current = (struct ina_call){0};
	faults = report();
	assert_int_equal(faults.calls.called[0].current.kind, INA_CALL_NONE);
	assert_int_equal(faults.calls.called[0].current.number, 0);
	assert_int_equal(faults.calls.called[0].previous.kind, INA_CALL_NONE);
}

static void who_is_asked_in_a_call_is_in_it(void **state)
{
	struct ina_faults faults;

	(void)state;
	comm->turn.current.number = 2;
	comm->turn.previous = (struct ina_call){.kind = INA_CALL_BARRIER, .number = 1};
	comm->turn.under_way = true;
	faults = report();
	assert_int_equal(faults.calls.called[0].current.number, 2);
	assert_int_equal(faults.calls.called[0].current.kind, INA_CALL_ALLREDUCE);
	assert_int_equal(faults.calls.called[0].previous.kind, INA_CALL_BARRIER);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, open_comm, close_comm)
	const struct CMUnitTest tests[] = {
	        TEST(memory_that_was_registered_for_a_call_is_not_used_in_another),
	        TEST(calls_under_way_share_a_registration),
	        TEST(deregistered_memory_is_given_up_when_it_is_acknowledged),
	        TEST(memory_that_the_device_keeps_is_not_forgotten),
	        TEST(the_remedy_is_that_of_the_error),
	        TEST(who_is_asked_between_calls_is_in_none),
	        TEST(who_is_asked_before_its_first_call_is_in_none),
	        TEST(who_is_asked_in_a_call_is_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
