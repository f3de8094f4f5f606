/* SPDX-License-Identifier: Apache-2.0 */
/* The window under congestion. The expected values are worked out by hand from RFC 8257, section
 * 3.3, with g = 1/16. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "hostlib/algorithms/congestion.h"

static struct ina_congestion begin(uint32_t most)
{
	struct ina_congestion congestion = {.is_controlled = true};

	ina_congestion_reset(&congestion, most);
	return congestion;
}

/* Sums of messages [first, end): those before `unmarked` are marked. The same messages have been
 * sent. */
static void sums(struct ina_congestion *congestion, uint64_t first, uint64_t unmarked, uint64_t end,
                 uint64_t posted)
{
	for (uint64_t number = first; number < end; number++)
		ina_congestion_summed(congestion, number, number < unmarked, posted);
}

static void test_nothing_marked(void **state)
{
	struct ina_congestion congestion = begin(16);

	(void)state;
	assert_int_equal(ina_congestion_window(&congestion), 16);
	sums(&congestion, 0, 0, 1000, 1016);
	assert_int_equal(ina_congestion_window(&congestion), 16);
}

/*
 * The first window is that of message 0 alone: share 1, alpha stays 1, and the window is halved to
 * 8. The next ends with message 16: share 0, alpha 15/16, window 9. The one after it, of messages
 * 17 to 32, has 8 of 16 marked: alpha 15/16 + (1/2 - 15/16)/16 = 233/256, window 9 (1 - 233/512) =
 * 4.904.
 */
static void test_by_hand(void **state)
{
	struct ina_congestion congestion = begin(16);

	(void)state;
	sums(&congestion, 0, 1, 1, 16);
	assert_int_equal(ina_congestion_window(&congestion), 8);
	sums(&congestion, 1, 0, 16, 24);
	assert_int_equal(ina_congestion_window(&congestion), 8);
	sums(&congestion, 16, 0, 17, 32);
	assert_int_equal(ina_congestion_window(&congestion), 9);
	sums(&congestion, 17, 25, 33, 41);
	assert_int_equal(ina_congestion_window(&congestion), 4);
	assert_true(congestion.alpha == 233.0 / 256);
	assert_true(congestion.window == 9 * (1 - 233.0 / 512));
}

/* The window is cut once in each window, however many messages are marked: here all but the
 * last. */
static void test_once_a_window(void **state)
{
	struct ina_congestion congestion = begin(16);

	(void)state;
	sums(&congestion, 0, 0, 1, 16);
	sums(&congestion, 1, 16, 16, 31);
	assert_int_equal(ina_congestion_window(&congestion), 16);
	sums(&congestion, 16, 0, 17, 31);
	assert_in_range(ina_congestion_window(&congestion), 8, 9);
}

static void test_one_message_is_left(void **state)
{
	struct ina_congestion congestion = begin(8);

	(void)state;
	for (uint64_t number = 0; number < 100; number++)
		ina_congestion_summed(&congestion, number, true, number + 1);
	assert_int_equal(ina_congestion_window(&congestion), 1);
	/* The window grows by one message in each window, up to its full size. */
	for (uint64_t number = 100; number < 103; number++)
		ina_congestion_summed(&congestion, number, false, number + 1);
	assert_int_equal(ina_congestion_window(&congestion), 4);
	for (uint64_t number = 103; number < 200; number++)
		ina_congestion_summed(&congestion, number, false, number + 1);
	assert_int_equal(ina_congestion_window(&congestion), 8);
}

static void test_not_controlled(void **state)
{
	struct ina_congestion congestion = {0};

	(void)state;
	ina_congestion_reset(&congestion, 8);
	sums(&congestion, 0, 100, 100, 108);
	assert_int_equal(ina_congestion_window(&congestion), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_nothing_marked), cmocka_unit_test(test_by_hand),
	        cmocka_unit_test(test_once_a_window),  cmocka_unit_test(test_one_message_is_left),
	        cmocka_unit_test(test_not_controlled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
