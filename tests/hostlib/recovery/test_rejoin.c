/* SPDX-License-Identifier: Apache-2.0 */
/* The JOIN of a fresh connection, on a device that is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_join_is_over_when_it_is_acknowledged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
