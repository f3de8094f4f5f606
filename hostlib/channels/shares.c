/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the channels' weights and their pieces of a step. */
#include "shares.h"

#define ALIKE (INA_SHARES_WHOLE / 16) /* smaller differences are noise of the measurement */
/* the smallest rate, so that the channel can still be measured */
#define LEAST_RATE (INA_SHARES_WHOLE / 16)
#define GAIN_MOST  (INA_SHARES_WHOLE / 2)
#define GAIN_LEAST (INA_SHARES_WHOLE / 32)

/*
 * 2^64 times the golden ratio: its multiples modulo 2^64 are spread evenly, even if they are few.
 */
#define GOLDEN 0x9E3779B97F4A7C15u

/*
 * A fraction of a unit is rounded up in as many steps as its size requires, so over many steps the
 * pieces are in proportion to the weights. If the last unit is short, the channels take turns at
 * the last piece.
 */
void ina_shares_cut(const uint32_t *weights, int channels, uint64_t step, size_t bytes, size_t unit,
                    struct ina_piece *pieces)
{
	size_t units = (bytes + unit - 1) / unit;
	uint64_t all = 0;
	uint64_t before = 0;
	uint64_t first = bytes % unit == 0 ? 0 : step;
	uint64_t carried;
	size_t begin = 0;

	for (int c = 0; c < channels; c++)
		all += weights[c];
	carried = (step * GOLDEN >> 32) * all >> 32;
	for (int i = 0; i < channels; i++) {
		int c = (int)((first + (uint64_t)i) % (uint64_t)channels);
		size_t end;

		before += weights[c];
		end = (size_t)((units * before + carried) / all) * unit;
		if (end > bytes)
			end = bytes;
		pieces[c] = (struct ina_piece){.offset = begin, .bytes = end - begin};
		begin = end;
	}
}

static bool is_lost(const struct ina_shares_known *known, int channel)
{
	return known->lost >> channel & 1;
}

void ina_shares_open(struct ina_shares_known *known, uint32_t lost)
{
	known->lost = lost;
	known->gain = GAIN_MOST;
	known->idlest = 0;
	for (int c = 0; c < INA_MAX_CHANNELS; c++)
		known->rates[c] = INA_SHARES_WHOLE;
}

bool ina_shares_differ(const struct ina_shares_known *known, int channels)
{
	for (int c = 0; c < channels; c++)
		if (!is_lost(known, c) && known->rates[c] != INA_SHARES_WHOLE)
			return true;
	return false;
}

void ina_shares_weigh(const struct ina_shares_known *known, int channels, uint32_t *weights)
{
	bool all_lost = known->lost == ((uint32_t)1 << channels) - 1;
	bool differ = ina_shares_differ(known, channels);

	for (int c = 0; c < channels; c++)
		weights[c] = all_lost ? 1 : is_lost(known, c) ? 0 : differ ? known->rates[c] : 1;
}

int32_t ina_shares_idle(uint32_t dry, uint32_t ends)
{
	return ends > 0 ? (int32_t)(dry * INA_SHARES_WHOLE / ends) : INT32_MAX;
}

/*
 * A change shows only in the next tally but one, so rates swing around the right values. Each time
 * that another channel is the idlest, changes become half as large; otherwise they grow a little.
 */
static void adapt(struct ina_shares_known *known, int idlest)
{
	known->gain = idlest == known->idlest ? known->gain + known->gain / 16 : known->gain / 2;
	if (known->gain > GAIN_MOST)
		known->gain = GAIN_MOST;
	if (known->gain < GAIN_LEAST)
		known->gain = GAIN_LEAST;
	known->idlest = idlest;
}

void ina_shares_learn(struct ina_shares_known *known, int channels, const int32_t *idle)
{
	int32_t least = INT32_MAX;
	int32_t most = -1;
	int idlest = 0;
	uint32_t largest = 1;

	for (int c = 0; c < channels; c++) {
		if (is_lost(known, c))
			continue;
		if (idle[c] < least)
			least = idle[c];
		if (idle[c] > most) {
			most = idle[c];
			idlest = c;
		}
	}
	if (most == INT32_MAX || most - least <= ALIKE)
		return;
	adapt(known, idlest);
	for (int c = 0; c < channels; c++) {
		uint32_t *rate = &known->rates[c];

		if (is_lost(known, c))
			continue;
		*rate += (uint32_t)((uint64_t)*rate * (uint32_t)(idle[c] - least) * known->gain /
		                    ((uint64_t)INA_SHARES_WHOLE * INA_SHARES_WHOLE));
		if (*rate > largest)
			largest = *rate;
	}
	for (int c = 0; c < channels; c++) {
		uint32_t *rate = &known->rates[c];

		if (is_lost(known, c))
			continue;
		*rate = *rate * INA_SHARES_WHOLE / largest;
		if (*rate < LEAST_RATE)
			*rate = LEAST_RATE;
	}
}
