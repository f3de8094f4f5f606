/* SPDX-License-Identifier: Apache-2.0 */
/* How steps are shared out: by hand, and that nothing is left out or given twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/random.h"
#include "hostlib/channels/shares.h"

#define UNIT 1000u

static void by_hand(void **state)
{
	static const struct {
		uint32_t weights[3];
		uint64_t step;
		size_t bytes;
		struct ina_share shares[3];
	} cases[] = {
	        /* Nothing; less than a unit, which the channels get in turn. */
	        {{1, 1, 1}, 0, 0, {{0, 0}, {0, 0}, {0, 0}}},
	        {{1, 1, 1}, 0, 999, {{0, 0}, {0, 0}, {0, 999}}},
	        {{1, 1, 1}, 1, 999, {{0, 999}, {0, 0}, {0, 0}}},
	        {{1, 1, 1}, 2, 999, {{0, 0}, {0, 999}, {0, 0}}},
	        /* A unit each, the last one short; in another step another begins. */
	        {{1, 1, 1}, 0, 2500, {{0, 1000}, {1000, 1000}, {2000, 500}}},
	        {{1, 1, 1}, 1, 2500, {{2000, 500}, {0, 1000}, {1000, 1000}}},
	        /* What has no weight gets nothing; one to three. */
	        {{1, 0, 1}, 3, 4000, {{0, 2000}, {2000, 0}, {2000, 2000}}},
	        {{0, 0, 5}, 0, 4000, {{0, 0}, {0, 0}, {0, 4000}}},
	        {{1, 3, 0}, 0, 8000, {{0, 2000}, {2000, 6000}, {8000, 0}}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ina_share shares[3];

		ina_shares_cut(cases[i].weights, 3, cases[i].step, cases[i].bytes, UNIT, shares);
		assert_memory_equal(shares, cases[i].shares, sizeof(shares));
	}
}

/* Pieces follow each other, from 0 to the end, in whole units; over many steps each has its part.
 */
static void nothing_is_lost(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		int channels = 1 + (int)(ina_random(&seed) % INA_MAX_CHANNELS);
		size_t bytes = (size_t)(ina_random(&seed) % 50000);
		uint64_t step = ina_random(&seed);
		uint32_t weights[INA_MAX_CHANNELS];
		struct ina_share shares[INA_MAX_CHANNELS];
		size_t end = 0;

		for (int c = 0; c < channels; c++)
			weights[c] = (uint32_t)(ina_random(&seed) % 100);
		weights[round % channels]++;
		ina_shares_cut(weights, channels, step, bytes, UNIT, shares);
		for (int i = 0; i < channels; i++) {
			int c = (int)((step + (uint64_t)i) % (uint64_t)channels);

			assert_int_equal(shares[c].offset, end);
			assert_true(shares[c].bytes == 0 || weights[c] > 0);
			end += shares[c].bytes;
			assert_true(end == bytes || end % UNIT == 0);
		}
		assert_int_equal(end, bytes);
	}
}

static void weights(void **state)
{
	static const struct {
		uint32_t lost;
		int channels;
		uint32_t wanted[3];
	} cases[] = {{0, 3, {1, 1, 1}}, {2, 3, {1, 0, 1}}, {5, 3, {0, 1, 0}},
	             {7, 3, {1, 1, 1}}, {0, 1, {1, 9, 9}}, {1, 1, {1, 9, 9}}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t got[3] = {9, 9, 9};

		ina_shares_weigh(cases[i].lost, cases[i].channels, got);
		assert_memory_equal(got, cases[i].wanted, sizeof(got));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(by_hand),
	        cmocka_unit_test(nothing_is_lost),
	        cmocka_unit_test(weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
