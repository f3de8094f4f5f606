/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model against examples worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost_model.h"

/* 4 machines of 2 ranks: 1 us, 10 GB/s between them, 40 GB/s inside. */
static struct cost_model four_by_two(bool aggregated)
{
	return (struct cost_model){.ranks = 8,
	                           .machines = 4,
	                           .locals = 2,
	                           .aggregated = aggregated,
	                           .alpha_s = 1e-6,
	                           .inter = 10e9,
	                           .intra = 40e9};
}

static void assert_us(const struct cost_model *model, enum cost_schedule schedule, double us)
{
	assert_float_equal((float)(cost_of(model, schedule, 1e6) * 1e6), (float)us, 1e-3f);
}

/* 1 MB takes 100 us between machines and 25 us inside one. */
static void by_hand(void **state)
{
	struct cost_model model = four_by_two(true);

	(void)state;
	assert_us(&model, COST_FLAT, 14 * 1 + 1.75 * 100);
	assert_us(&model, COST_LEADER, 2 * 1 + 2 * 25 + 100);
	assert_us(&model, COST_PARALLEL, 2 * 1 + 25 + 100);
	model = four_by_two(false);
	assert_us(&model, COST_FLAT, 14 * 1 + 1.75 * 100);
	assert_us(&model, COST_LEADER, 6 * 1 + 2 * 25 + 150);
	assert_us(&model, COST_PARALLEL, 6 * 1 + 25 + 150);
	/* 2 machines of 4 ranks: the leader reads the data of three others, then they read the
	 * result. */
	model = four_by_two(true);
	model.machines = 2;
	model.locals = 4;
	assert_us(&model, COST_FLAT, 14 * 1 + 1.75 * 100);
	assert_us(&model, COST_LEADER, 2 * 1 + (3 + 1) * 25 + 100);
	assert_us(&model, COST_PARALLEL, 2 * 1 + 2 * 18.75 + 100);
}

/* docs/protocol.md, Short messages between hosts: 1 kB takes 100 ns between machines. */
static void what_is_short(void **state)
{
	struct cost_model model = four_by_two(false);

	(void)state;
	assert_float_equal(cost_of(&model, COST_FLAT, 1e3) * 1e6, 3 * 1.1, 1e-6);
	assert_float_equal(cost_of(&model, COST_LEADER, 1e3) * 1e6, 2 * 1.1 + 2 * 0.025, 1e-6);
	assert_float_equal(cost_of(&model, COST_PARALLEL, 1e3) * 1e6, 2 * 1.1 + 0.025, 1e-6);
	model = four_by_two(true);
	assert_float_equal(cost_of(&model, COST_FLAT, 1e3) * 1e6, 3 * 1.1, 1e-6);
	assert_float_equal(cost_of(&model, COST_LEADER, 1e3) * 1e6, 2 + 0.1 + 2 * 0.025, 1e-6);
	/* A rail has half of the elements. */
	model = four_by_two(false);
	assert_float_equal(cost_of(&model, COST_PARALLEL, 32768) * 1e6, 2 * (1 + 3.2768) + 0.8192,
	                   1e-6);
	assert_int_equal(cost_steps(2), 1);
	assert_int_equal(cost_steps(3), 3);
	assert_int_equal(cost_steps(6), 4);
	assert_int_equal(cost_steps(64), 6);
}

static void the_fastest(void **state)
{
	struct cost_model model = four_by_two(true);

	(void)state;
	assert_int_equal(cost_fastest(&model, 1e6), COST_PARALLEL);
	model.intra = 1e9; /* slower inside than between: flat is best */
	assert_int_equal(cost_fastest(&model, 1e6), COST_FLAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand),
	                                   cmocka_unit_test(what_is_short),
	                                   cmocka_unit_test(the_fastest)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
