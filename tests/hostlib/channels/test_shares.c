/* SPDX-License-Identifier: Apache-2.0 */
/* How the channels share the steps: worked out by hand; and no element is left out or given
 * twice. */
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
		struct ina_piece pieces[3];
	} cases[] = {
	        /* Nothing; less than a unit, which the channels get in turn. */
	        {{1, 1, 1}, 0, 0, {{0, 0}, {0, 0}, {0, 0}}},
	        {{1, 1, 1}, 0, 999, {{0, 0}, {0, 0}, {0, 999}}},
	        {{1, 1, 1}, 1, 999, {{999, 0}, {0, 0}, {0, 999}}},
	        {{1, 1, 1}, 3, 999, {{0, 999}, {999, 0}, {999, 0}}},
	        /* A unit each, the last one short. */
	        {{1, 1, 1}, 0, 2500, {{0, 1000}, {1000, 1000}, {2000, 500}}},
	        {{1, 1, 1}, 3, 2500, {{0, 1000}, {1000, 1000}, {2000, 500}}},
	        /* A channel without weight gets nothing; one to three. */
	        {{1, 0, 1}, 3, 4000, {{0, 2000}, {2000, 0}, {2000, 2000}}},
	        {{0, 0, 5}, 0, 4000, {{0, 0}, {0, 0}, {0, 4000}}},
	        {{1, 3, 0}, 0, 8000, {{0, 2000}, {2000, 6000}, {8000, 0}}},
	        /* 5 1/3 units: 5 and 5 and 6 of 8. */
	        {{2, 1, 0}, 0, 8000, {{0, 5000}, {5000, 3000}, {8000, 0}}},
	        {{2, 1, 0}, 1, 8000, {{0, 5000}, {5000, 3000}, {8000, 0}}},
	        {{2, 1, 0}, 3, 8000, {{0, 6000}, {6000, 2000}, {8000, 0}}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ina_piece pieces[3];

		ina_shares_cut(cases[i].weights, 3, cases[i].step, cases[i].bytes, UNIT, pieces);
		assert_memory_equal(pieces, cases[i].pieces, sizeof(pieces));
	}
}

/* Pieces follow each other, from 0 to the end, in whole units. The first channel begins; if the
 * last unit is short, the channels begin in turn. */
static void nothing_is_lost(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		int channels = 1 + (int)(ina_random(&seed) % INA_MAX_CHANNELS);
		size_t bytes = (size_t)(ina_random(&seed) % 50000);
		uint64_t step = ina_random(&seed);
		uint32_t weights[INA_MAX_CHANNELS];
		struct ina_piece pieces[INA_MAX_CHANNELS];
		size_t end = 0;

		for (int c = 0; c < channels; c++)
			weights[c] = (uint32_t)(ina_random(&seed) % 100);
		weights[round % channels]++;
		ina_shares_cut(weights, channels, step, bytes, UNIT, pieces);
		for (int i = 0; i < channels; i++) {
			uint64_t first = bytes % UNIT == 0 ? 0 : step % (uint64_t)channels;
			int c = (int)((first + (uint64_t)i) % (uint64_t)channels);

			assert_int_equal(pieces[c].offset, end);
			assert_true(pieces[c].bytes == 0 || weights[c] > 0);
			end += pieces[c].bytes;
			assert_true(end == bytes || end % UNIT == 0);
		}
		assert_int_equal(end, bytes);
	}
}

/* Calls of one step and five units, of which the last one is almost empty: the pieces are still
 * equal. */
static void short_ends_go_round(void **state)
{
	static const uint32_t equal[3] = {1, 1, 1};

	(void)state;
	for (int channels = 2; channels <= 3; channels++) {
		size_t given[3] = {0};

		for (uint64_t step = 0; step < 600; step++) {
			struct ina_piece pieces[3];

			ina_shares_cut(equal, channels, step, 4 * UNIT + 1, UNIT, pieces);
			for (int c = 0; c < channels; c++)
				given[c] += pieces[c].bytes;
		}
		for (int c = 0; c < channels; c++)
			assert_in_range(given[c] * (size_t)channels, 600 * 4 * UNIT * 97 / 100,
			                600 * 4 * UNIT * 103 / 100);
	}
}

/* Steps of a few units: over many of them each channel has elements by its weight. */
static void pieces_follow_the_weights(void **state)
{
	uint64_t seed = 8;

	(void)state;
	for (int round = 0; round < 200; round++) {
		int channels = 1 + (int)(ina_random(&seed) % INA_MAX_CHANNELS);
		size_t units = 1 + (size_t)(ina_random(&seed) % 8);
		uint64_t first = ina_random(&seed) % 100000;
		uint32_t weights[INA_MAX_CHANNELS];
		uint64_t given[INA_MAX_CHANNELS] = {0};
		uint64_t all = 0;

		for (int c = 0; c < channels; c++)
			all += weights[c] = 1 + (uint32_t)(ina_random(&seed) % INA_SHARES_WHOLE);
		for (uint64_t step = first; step < first + 1000; step++) {
			struct ina_piece pieces[INA_MAX_CHANNELS];

			ina_shares_cut(weights, channels, step, units * UNIT, UNIT, pieces);
			for (int c = 0; c < channels; c++)
				given[c] += pieces[c].bytes / UNIT;
		}
		for (int c = 0; c < channels; c++)
			assert_in_range(given[c] + 5, 1000 * units * weights[c] / all,
			                1000 * units * weights[c] / all + 11);
	}
}

static void weights(void **state)
{
	static const struct {
		struct ina_shares_known known;
		int channels;
		uint32_t wanted[3];
	} cases[] = {
	        {{0, {1024, 1024, 1024}, 512, 0}, 3, {1, 1, 1}},
	        {{2, {1024, 1024, 1024}, 512, 0}, 3, {1, 0, 1}},
	        {{5, {1024, 1024, 1024}, 512, 0}, 3, {0, 1, 0}},
	        {{7, {1024, 1024, 1024}, 512, 0}, 3, {1, 1, 1}},
	        {{0, {1024, 1024, 1024}, 512, 0}, 1, {1, 9, 9}},
	        {{1, {1024, 1024, 1024}, 512, 0}, 1, {1, 9, 9}},
	        {{0, {1024, 64, 500}, 512, 0}, 3, {1024, 64, 500}},
	        /* A lost channel does not count. If all are lost, all are equal. */
	        {{1, {1024, 100, 50}, 512, 0}, 3, {0, 100, 50}},
	        {{2, {1024, 100, 1024}, 512, 0}, 3, {1, 0, 1}},
	        {{7, {1024, 100, 50}, 512, 0}, 3, {1, 1, 1}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t got[3] = {9, 9, 9};

		ina_shares_weigh(&cases[i].known, cases[i].channels, got);
		assert_memory_equal(got, cases[i].wanted, sizeof(got));
	}
}

static void idle(void **state)
{
	(void)state;
	assert_int_equal(ina_shares_idle(0, 12), 0);
	assert_int_equal(ina_shares_idle(3, 12), 256);
	assert_int_equal(ina_shares_idle(12, 12), 1024);
	assert_int_equal(ina_shares_idle(0, 0), INT32_MAX);
}

/* A channel that is idle for half of the time gets a quarter more, as long as it is the same
 * channel. */
static void rates(void **state)
{
	static const struct {
		struct ina_shares_known known;
		int32_t idle[3];
		uint32_t wanted[3];
	} cases[] = {
	        {{0, {1024, 1024, 1024}, 512, 0}, {512, 0, 0}, {1024, 819, 819}},
	        {{0, {1024, 1024, 1024}, 512, 0}, {1024, 0, 512}, {1024, 682, 853}},
	        /* Only the difference from the other channels' idle time counts, and a small
	         * difference counts as zero.
	         */
	        {{0, {1024, 1024, 1024}, 512, 0}, {1024, 512, 512}, {1024, 819, 819}},
	        {{0, {1024, 512, 1024}, 512, 0}, {64, 0, 50}, {1024, 512, 1024}},
	        {{0, {1024, 512, 1024}, 512, 0}, {INT32_MAX, 0, 50}, {1024, 512, 1024}},
	        /* It was a different channel. */
	        {{0, {1024, 1024, 1024}, 512, 2}, {512, 0, 0}, {1024, 910, 910}},
	        /* A channel with a small rate keeps some of it, and can get the rest back. */
	        {{0, {1024, 70, 1024}, 512, 0}, {1024, 0, 1024}, {1024, 64, 1024}},
	        {{0, {1024, 64, 1024}, 512, 1}, {0, 1024, 0}, {1024, 96, 1024}},
	        /* A lost channel does not count, and its weight stays unchanged. */
	        {{1, {77, 1024, 1024}, 512, 1}, {5, 512, 0}, {77, 1024, 819}},
	        {{7, {77, 1024, 1024}, 512, 0}, {5, 512, 0}, {77, 1024, 1024}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ina_shares_known known = cases[i].known;

		ina_shares_learn(&known, 3, cases[i].idle);
		assert_memory_equal(known.rates, cases[i].wanted, sizeof(cases[i].wanted));
	}
}

/* Two channels, one of them k times as fast: soon both finish at the same time. */
static void rates_settle(void **state)
{
	(void)state;
	for (uint32_t k = 1; k <= 10; k++) {
		struct ina_shares_known known;

		ina_shares_open(&known, 0);
		for (int tally = 0; tally < 40; tally++) {
			bool is_ahead = known.rates[0] < known.rates[1] * k;
			int32_t idle_at[2] = {is_ahead ? INA_SHARES_WHOLE : 0, 0};

			ina_shares_learn(&known, 2, idle_at);
		}
		assert_in_range(3 * known.rates[1] * k, 2 * known.rates[0], 3 * known.rates[0]);
	}
}

/* A change takes effect two tallies later: the rates still settle. */
static void rates_do_not_swing(void **state)
{
	struct ina_shares_known known;
	uint32_t before[2];
	uint32_t now;

	(void)state;
	ina_shares_open(&known, 0);
	before[0] = before[1] = now = 1024 * known.rates[0] / known.rates[1];
	for (int tally = 0; tally < 100; tally++) {
		bool is_ahead = before[0] < 2 * 1024;
		int32_t idle_at[2] = {is_ahead ? INA_SHARES_WHOLE : 0,
		                      is_ahead ? 0 : INA_SHARES_WHOLE};

		ina_shares_learn(&known, 2, idle_at);
		before[0] = before[1];
		before[1] = now;
		now = 1024 * known.rates[0] / known.rates[1];
		if (tally > 60)
			assert_in_range(now, 2 * 1024 * 85 / 100, 2 * 1024 * 115 / 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(by_hand),
	        cmocka_unit_test(nothing_is_lost),
	        cmocka_unit_test(short_ends_go_round),
	        cmocka_unit_test(weights),
	        cmocka_unit_test(idle),
	        cmocka_unit_test(rates),
	        cmocka_unit_test(rates_settle),
	        cmocka_unit_test(pieces_follow_the_weights),
	        cmocka_unit_test(rates_do_not_swing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
