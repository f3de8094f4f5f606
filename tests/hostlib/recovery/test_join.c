/* SPDX-License-Identifier: Apache-2.0 */
/* The way to the aggregator when a communicator opens, on a fake device. test_rejoin.c has the way
 * back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/deadline.h"
#include "fake_device.h"
#include "hostlib/recovery/join.h"

#define RANKS 3

/* Rank 0 of three, with its first connections. */
static struct ina_network network;
static struct ina_control control;
static struct ina_settings settings;
static struct ina_join join;
static struct ina_turn turn;
static struct ina_stats stats;
static const struct ina_recovery_context context = {.control = &control,
                                                    .network = &network,
                                                    .settings = &settings,
                                                    .stats = &stats,
                                                    .turn = &turn};
static const struct ina_failure none = {INA_OK, ""};
static struct ina_failure failure;
static int64_t end_ms;

static int open_network(void **state)
{
	static struct ina_endpoint endpoints[RANKS];
	struct ina_options options;

	(void)state;
	network = (struct ina_network){0};
	ina_options_init(&options);
	options.rank = 0;
	options.ranks = RANKS;
	options.root = "127.0.0.1";
	fake_open(&network.transport, 0, RANKS);
	network.transport.endpoints = endpoints;
	assert_int_equal(ina_settings_make(&settings, &options, &failure), INA_OK);
	ina_control_init(&control, 0, RANKS);
	assert_int_equal(ina_network_open(&network, &control, &settings, 7, &failure), INA_OK);
	stats.path_mtu = network.transport.path_mtu;
	end_ms = ina_now_ms() + 5000;
	return 0;
}

static int close_network(void **state)
{
	(void)state;
	ina_memory_close(&network.memory);
	ina_control_close(&control);
	fake_close();
	return 0;
}

/* The other ranks vote in the agreement under way. */
static void others_vote(uint32_t value)
{
	struct ina_votes votes = {.phase = control.phase, .least = {value, 1}, .most = {value, 2}};

	assert_true(join.votes);
	for (int r = 0; r < RANKS; r++)
		ina_ranks_add(&votes.voted, r);
	ina_control_take_votes(&control, &votes);
}

static enum ina_join_result step(void)
{
	int count;

	if (!join.votes)
		assert_int_equal(ina_completions_poll(&network.completions, &count, &failure),
		                 INA_OK);
	return ina_join_step(&join, &failure);
}

static void begin(void)
{
	ina_join_open(&join, &context, &none, end_ms);
	assert_int_equal(step(), INA_JOIN_UNDER_WAY);
	others_vote(network.transport.path_mtu);
}

static void an_error_of_one_rank_is_that_of_all(void **state)
{
	const struct ina_failure failed = {INA_ERR_DEVICE, "no connection"};

	(void)state;
	ina_join_open(&join, &context, &failed, end_ms);
	assert_int_equal(step(), INA_JOIN_ENDED);
	assert_int_equal(failure.status, INA_ERR_DEVICE);
	assert_string_equal(failure.text, "rank 0: no connection");
}

static void ranks_have_the_same_path_mtu(void **state)
{
	(void)state;
	ina_join_open(&join, &context, &none, end_ms);
	others_vote(1024);
	assert_int_equal(step(), INA_JOIN_ENDED);
	assert_string_equal(failure.text, "rank 1 has path MTU 1024, rank 0 has 4096");
}

/* The ranks vote as often as others, since they cannot know what the others ask for. */
static void a_ring_sends_no_join(void **state)
{
	(void)state;
	settings.options.algorithm = INA_ALGORITHM_RING;
	begin();
	assert_int_equal(step(), INA_JOIN_UNDER_WAY);
	assert_int_equal(join.stage, INA_JOIN_PLACED);
	assert_int_equal(join.end_ms, end_ms + settings.options.join_timeout_ms);
	others_vote(0);
	assert_int_equal(step(), INA_JOIN_UNDER_WAY);
	assert_int_equal(join.stage, INA_JOIN_CHECK);
	assert_int_equal(join.end_ms, end_ms + 2 * settings.options.join_timeout_ms);
	others_vote(0);
	assert_int_equal(step(), INA_JOIN_REFUSED);
	assert_int_equal(join.end, INA_JOIN_NONE);
	assert_int_equal(fake.tx[INA_PURPOSE_AGGREGATE].posted, 0);
}

/* All ranks know their positions: no switch has answered. */
static void send_join(void)
{
	begin();
	assert_int_equal(step(), INA_JOIN_UNDER_WAY);
	assert_int_equal(join.stage, INA_JOIN_TRACE);
	join.votes = true;
	join.stage = INA_JOIN_PLACED;
	others_vote(0);
	assert_int_equal(step(), INA_JOIN_UNDER_WAY);
	assert_int_equal(join.stage, INA_JOIN_WAIT);
}

/* This rank's JOIN was granted, with this number of jobs before it; and so were the others'. */
static enum ina_join_result grant(unsigned int further)
{
	join.stage = INA_JOIN_CHECK;
	join.votes = true;
	join.vote = ina_spread_pack(8, further);
	control.phase++;
	others_vote(ina_spread_pack(64, 0));
	return step();
}

static void the_least_grant_counts(void **state)
{
	(void)state;
	send_join();
	ina_innet_stop(&network.innet);
	assert_int_equal(grant(0), INA_JOIN_GRANTED);
	assert_int_equal(network.innet.granted_packets, 8);
}

/* Several jobs have chosen this tree at the same time: all but the first move, once. */
static void a_job_makes_way_once(void **state)
{
	const unsigned int tree = network.transport.tree;

	(void)state;
	send_join();
	ina_innet_stop(&network.innet);
	assert_int_equal(grant(3), INA_JOIN_UNDER_WAY);
	assert_int_equal(join.stage, INA_JOIN_LEAVE);
	assert_int_equal(network.transport.tree, tree + 3);
	join.deadline_ms = 0;
	assert_int_equal(step(), INA_JOIN_UNDER_WAY);
	assert_int_equal(join.stage, INA_JOIN_LEFT);
	others_vote(0);
	assert_int_equal(step(), INA_JOIN_UNDER_WAY);
	assert_int_equal(join.stage, INA_JOIN_GATHER);
	assert_int_not_equal(network.transport.job_id, 7);
	assert_int_equal(grant(3), INA_JOIN_GRANTED);
}

static void an_error_of_the_device_ends_the_join(void **state)
{
	const struct ina_failure lost = {INA_ERR_DEVICE, "fake0 was removed"};

	(void)state;
	send_join();
	ina_join_lose(&join, &lost);
	assert_int_equal(join.stage, INA_JOIN_CHECK);
	assert_int_equal(step(), INA_JOIN_REFUSED);
	assert_int_equal(join.end, INA_JOIN_FAILED);
}

static void a_program_that_stops_the_opening_ends_the_join(void **state)
{
	static const atomic_bool stop = true;

	(void)state;
	send_join();
	control.stop = &stop;
	join.deadline_ms = 0;
	assert_int_equal(step(), INA_JOIN_ENDED);
	assert_int_equal(failure.status, INA_ERR_ABORTED);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, open_network, close_network)
	const struct CMUnitTest tests[] = {
	        TEST(an_error_of_one_rank_is_that_of_all),
	        TEST(ranks_have_the_same_path_mtu),
	        TEST(a_ring_sends_no_join),
	        TEST(the_least_grant_counts),
	        TEST(a_job_makes_way_once),
	        TEST(an_error_of_the_device_ends_the_join),
	        TEST(a_program_that_stops_the_opening_ends_the_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
