/* SPDX-License-Identifier: Apache-2.0 */
/* SplitMix64's published outputs: for seed 0 (S. Vigna's splitmix64.c), and for 1234567 (Rosetta
 * Code). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/random.h"

static void check(uint64_t seed, const uint64_t *expected, int count)
{
	for (int i = 0; i < count; i++)
		assert_int_equal(ina_random(&seed), expected[i]);
}

static void test_streams(void **state)
{
	(void)state;
	check(0, (const uint64_t[]){0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F}, 3);
	check(1234567,
	      (const uint64_t[]){6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
	                         4593380528125082431u, 16408922859458223821u},
	      5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_streams)};

	return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
