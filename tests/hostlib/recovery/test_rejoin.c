/* SPDX-License-Identifier: Apache-2.0 */
/* When an aggregator is asked or left, and the JOIN of a fresh connection, on a device that is not
 * there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/deadline.h"
#include "fake_device.h"
#include "hostlib/recovery/rejoin.h"

#define RANKS 3

/* docs/protocol.md, A connection's life: DATA only when the rank's own JOIN is acknowledged. */
static void a_join_is_over_when_it_is_acknowledged(void **state)
{
	static struct ina_network network;
	static struct ina_control control;
	static struct ina_settings settings;
	const struct ina_transfer nothing = {0};
	struct ina_recovery_context context = {
	        .control = &control, .network = &network, .settings = &settings};
	struct ina_turn turn = {0};
	struct ina_rejoin rejoin = {.stage = INA_REJOIN_JOIN, .deadline_ms = INT64_MAX};
	struct ina_options options;
	struct ina_failure failure;
	int count;

	(void)state;
	context.turn = &turn;
	ina_options_init(&options);
	options.rank = 0;
	options.ranks = RANKS;
	options.root = "127.0.0.1";
	fake_open(&network.fabric, 0, RANKS);
	assert_int_equal(ina_settings_make(&settings, &options, &failure), INA_OK);
	assert_int_equal(ina_control_init(&control, 0, RANKS, &failure), INA_OK);
	assert_int_equal(ina_network_open(&network, &control, &settings, 7, &failure), INA_OK);

	ina_innet_start(&network.innet, INA_WIRE_JOIN, -8, &nothing);
	assert_int_equal(ina_innet_advance(&network.innet, &failure), INA_OK);
	fake_sum(0, RANKS);
	assert_int_equal(ina_completions_poll(&network.completions, &count, &failure), INA_OK);
	assert_int_equal(ina_rejoin_step(&rejoin, &context, &failure), INA_REJOIN_UNDER_WAY);
	assert_int_equal(rejoin.stage, INA_REJOIN_JOIN);

	fake_complete(fake.tx[INA_PURPOSE_AGGREGATE].ids[0], IBV_WC_SUCCESS, 0);
	assert_int_equal(ina_completions_poll(&network.completions, &count, &failure), INA_OK);
	assert_int_equal(ina_rejoin_step(&rejoin, &context, &failure), INA_REJOIN_UNDER_WAY);
	assert_int_equal(rejoin.stage, INA_REJOIN_CHECK);
	assert_int_equal(rejoin.vote, 8); /* packets, as the sum of the JOINs says */

	ina_memory_close(&network.memory);
	ina_control_close(&control);
	fake_close();
}

/* Rank 0 alone, and only when the job has had its context for a second. */
static void a_context_is_given_when_the_turn_is_over(void **state)
{
	static struct ina_network network;
	const struct {
		int rank;
		enum ina_algorithm algorithm;
		bool asked;
		int64_t held_ms;
		bool yields;
	} cases[] = {
	        {0, INA_ALGORITHM_AUTO, true, 2000, true},
	        {0, INA_ALGORITHM_AUTO, true, 500, false},
	        {0, INA_ALGORITHM_AUTO, false, 2000, false},
	        {1, INA_ALGORITHM_AUTO, true, 2000, false},
	        {0, INA_ALGORITHM_INA, true, 2000, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ina_settings settings = {
		        .options = {.rank = cases[i].rank, .algorithm = cases[i].algorithm}};
		struct ina_stats stats = {0};
		const struct ina_recovery_context context = {
		        .network = &network, .settings = &settings, .stats = &stats};
		struct ina_rejoin rejoin = {.granted_ms = ina_now_ms() - cases[i].held_ms};

		network.innet.asked = cases[i].asked;
		ina_rejoin_heed(&rejoin, &context);
		assert_int_equal(network.innet.says_leave, cases[i].yields);
		assert_false(network.innet.asked);
		ina_rejoin_lost(&rejoin, &context, true);
		assert_in_range(rejoin.next_ms - ina_now_ms(), 500, 1000);
	}
}

/* Again and again: soon where a switch is known that could have joined it, else ever later. */
static void a_job_that_is_refused_asks_again(void **state)
{
	static struct ina_network network;
	struct ina_settings settings = {.options = {.rank = 0}};
	struct ina_stats stats = {0};
	const struct ina_recovery_context context = {
	        .network = &network, .settings = &settings, .stats = &stats};
	struct ina_rejoin rejoin = {0};

	(void)state;
	network.tree.verdict = INA_TREE_SUMS;
	network.innet.received = 1;
	network.innet.contributors = 1;
	for (int i = 0; i < 10; i++) {
		ina_rejoin_refused(&rejoin, &context);
		assert_in_range(rejoin.next_ms - ina_now_ms(), 100, i == 0 ? 250 : 1000);
	}
	network.innet.received = 0; /* it did not come back */
	ina_rejoin_refused(&rejoin, &context);
	assert_in_range(rejoin.next_ms - ina_now_ms(), 500, 1000);
	network.innet.received = 1;
	network.tree.verdict = INA_TREE_UNKNOWN;
	for (int i = 0; i < 9; i++)
		ina_rejoin_refused(&rejoin, &context);
	assert_in_range(rejoin.next_ms - ina_now_ms(), 20000, 30000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_join_is_over_when_it_is_acknowledged),
	        cmocka_unit_test(a_context_is_given_when_the_turn_is_over),
	        cmocka_unit_test(a_job_that_is_refused_asks_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
