/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks agree with each other and go forwards; the remaining time of a deadline is never
 * negative. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

#include "common/deadline.h"

/* Time that a busy machine may take between two readings; the coarse clock's tick is less. */
#define PATIENCE_MS 5000

static void test_clocks(void **state)
{
	const int64_t from_ns = ina_now_ns();
	const int64_t ms = ina_now_ms();
	const double s = ina_now_s();

	(void)state;
	assert_true(ina_now_ns() >= from_ns);
	assert_in_range(ms - from_ns / 1000000 + PATIENCE_MS, 0, 2 * PATIENCE_MS);
	assert_true(s * 1e9 >= (double)from_ns - 1e3 && s * 1e3 < (double)ms + PATIENCE_MS);
	assert_in_range(ina_clock_ns(CLOCK_REALTIME) / 1000000000 - time(NULL) + 1, 0, 6);
}

static void test_deadline(void **state)
{
	const int64_t now_ms = ina_now_ms();

	(void)state;
	assert_int_equal(ina_left_ms(now_ms - 1, 50), 0);
	assert_int_equal(ina_left_ms(now_ms + 100000, 50), 50);
	assert_in_range(ina_left_ms(now_ms + PATIENCE_MS, 100000), 1, PATIENCE_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_clocks),
	        cmocka_unit_test(test_deadline),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
