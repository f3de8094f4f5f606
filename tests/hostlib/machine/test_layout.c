/* SPDX-License-Identifier: Apache-2.0 */
/* The places of ranks, in examples worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hostlib/machine/layout.h"

static struct ina_location where[8];

static void machines_in_turn(void **state)
{
	/* Ranks dealt to two machines like cards: 0, 2, 4 and 1, 3. */
	const uint64_t hosts[] = {77, 5, 77, 5, 77};
	struct ina_layout t;

	(void)state;
	ina_layout_make(&t, where, hosts, 5, 3, INA_SCHEDULE_AUTO);
	assert_int_equal(t.machines, 2);
	assert_int_equal(t.machine, 1);
	assert_int_equal(t.local, 1);
	assert_int_equal(t.locals, 2);
	assert_int_equal(t.fewest, 2);
	assert_int_equal(t.most, 3);
	assert_int_equal(t.rails, 2);
	assert_int_equal(ina_layout_rank(&t, 0, 2), 4);
	assert_int_equal(ina_layout_rank(&t, 1, 0), 1);
	assert_int_equal(ina_layout_rank(&t, 1, 2), -1);
}

static void rails_by_schedule(void **state)
{
	const uint64_t hosts[] = {1, 1, 1, 2, 2, 2, 2, 2};
	struct ina_layout t;

	(void)state;
	ina_layout_make(&t, where, hosts, 8, 7, INA_SCHEDULE_PARALLEL);
	assert_int_equal(t.rails, 3);
	assert_int_equal(t.local, 4);
	ina_layout_make(&t, where, hosts, 8, 7, INA_SCHEDULE_LEADER);
	assert_int_equal(t.rails, 1);
	ina_layout_make(&t, where, hosts, 8, 7, INA_SCHEDULE_FLAT);
	assert_int_equal(t.rails, 0);
	assert_int_equal(t.machines, 2);
}

static void one_rank_a_machine_is_flat(void **state)
{
	const uint64_t hosts[] = {4, 3, 2, 1};
	struct ina_layout t;

	(void)state;
	for (int s = INA_SCHEDULE_AUTO; s <= INA_SCHEDULE_PARALLEL; s++) {
		ina_layout_make(&t, where, hosts, 4, 2, (enum ina_schedule)s);
		assert_int_equal(t.rails, 0);
		assert_int_equal(t.machines, 4);
	}
}

static void one_machine(void **state)
{
	const uint64_t hosts[] = {9, 9, 9};
	struct ina_layout t;

	(void)state;
	ina_layout_make(&t, where, hosts, 3, 2, INA_SCHEDULE_AUTO);
	assert_int_equal(t.machines, 1);
	assert_int_equal(t.rails, 3);
}

static void this_machine_is_itself(void **state)
{
	struct ina_failure failure;
	uint64_t a = 0;
	uint64_t b = 1;

	(void)state;
	assert_int_equal(ina_layout_identity(&a, &failure), INA_OK);
	assert_int_equal(ina_layout_identity(&b, &failure), INA_OK);
	assert_true(a == b && a != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(machines_in_turn), cmocka_unit_test(rails_by_schedule),
	        cmocka_unit_test(one_rank_a_machine_is_flat), cmocka_unit_test(one_machine),
	        cmocka_unit_test(this_machine_is_itself)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
