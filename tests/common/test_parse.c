/* SPDX-License-Identifier: Apache-2.0 */
/* Which texts are numbers, and which are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/parse.h"

static void test_whole(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {{"1", 1}, {"0010", 10}, {"255", 255}, {"0xfF", 255}, {"0X10", 16}};
	static const char *const bad[] = {
	        "",  " 1",  "1 ",  "+1",  "-1",   "1x",  "0x",
	        "0", "256", "1e2", "1.0", "0x-1", "ten", "18446744073709551617"};
	uint64_t value = 42;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(ina_parse_whole(bad[i], 1, 255, &value));
	assert_int_equal(value, 42);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_true(ina_parse_whole(good[i].text, 1, 255, &value));
		assert_int_equal(value, good[i].value);
	}
	assert_true(ina_parse_whole("18446744073709551615", 0, UINT64_MAX, &value));
	assert_int_equal(value, UINT64_MAX);
	assert_false(ina_parse_whole("18446744073709551616", 0, UINT64_MAX, &value));
}

static void test_real(void **state)
{
	static const struct {
		const char *text;
		double value;
	} good[] = {{"0", 0}, {".5", 0.5}, {"1e-2", 0.01}, {"-1", -1}, {"2.", 2}};
	static const char *const bad[] = {"",    " 1",   "1 ", "+1", "-",    "-1.1", "2.1",  "nan",
	                                  "inf", "-inf", "1x", ".",  "-nan", "1,5",  "1e999"};
	double value = 42;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(ina_parse_real(bad[i], -1, 2, &value));
	assert_true(value == 42);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_true(ina_parse_real(good[i].text, -1, 2, &value));
		assert_true(value == good[i].value);
	}
}

static void test_scan(void **state)
{
	static const char text[] = "3:1.5ms";
	uint64_t host;
	double time;
	const char *end = ina_scan_whole(text, 0, 7, &host);

	(void)state;
	assert_ptr_equal(end, text + 1);
	assert_int_equal(host, 3);
	assert_ptr_equal(ina_scan_real(end + 1, 0, 1e9, &time), text + 5);
	assert_true(time == 1.5);
	assert_null(ina_scan_whole(end, 0, 7, &host));
	assert_null(ina_scan_real("ms", 0, 1, &time));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_whole),
	        cmocka_unit_test(test_real),
	        cmocka_unit_test(test_scan),
	};

	return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
