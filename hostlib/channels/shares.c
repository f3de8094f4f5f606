/* SPDX-License-Identifier: Apache-2.0 */
/* Weights, and what follows from them. */
#include "shares.h"

#define PARTS ((int64_t)16) /* of the fastest channel */

void ina_shares_cut(const uint32_t *weights, int channels, uint64_t step, size_t bytes, size_t unit,
                    struct ina_share *shares)
{
	size_t units = (bytes + unit - 1) / unit;
	uint64_t all = 0;
	uint64_t before = 0;
	size_t begin = 0;

	for (int c = 0; c < channels; c++)
		all += weights[c];
	for (int i = 0; i < channels; i++) {
		int c = (int)((step + (uint64_t)i) % (uint64_t)channels);
		size_t end;

		before += weights[c];
		end = (size_t)(units * before / all) * unit;
		if (end > bytes)
			end = bytes;
		shares[c] = (struct ina_share){.offset = begin, .bytes = end - begin};
		begin = end;
	}
}

void ina_shares_weigh(const struct ina_shares_known *known, int channels, uint32_t *weights)
{
	bool all_lost = known->lost == ((uint32_t)1 << channels) - 1;
	int32_t fastest = 0;
	int32_t slowest = INT32_MAX;

	for (int c = 0; c < channels; c++) {
		weights[c] = all_lost || !(known->lost >> c & 1);
		if (weights[c] == 0)
			continue;
		if (known->rates[c] > fastest)
			fastest = known->rates[c];
		if (known->rates[c] < slowest)
			slowest = known->rates[c];
	}
	if (all_lost || slowest == 0 || fastest - slowest <= fastest / 4)
		return;
	for (int c = 0; c < channels; c++) {
		if (weights[c] > 0)
			weights[c] = 1 + (uint32_t)((PARTS - 1) * known->rates[c] / fastest);
	}
}

int32_t ina_shares_rate(uint64_t bytes, int64_t busy_ns)
{
	double rate;

	if (bytes == 0 || busy_ns <= 0)
		return INT32_MAX;
	rate = (double)bytes * 1e6 / (double)busy_ns;
	if (rate < 1)
		return 1;
	return rate < INT32_MAX - 1 ? (int32_t)rate : INT32_MAX - 1;
}

void ina_shares_learn(struct ina_shares_known *known, int channel, int32_t slowest)
{
	int32_t *rate = &known->rates[channel];

	if (slowest == INT32_MAX)
		return;
	*rate = *rate == 0 ? slowest : *rate / 2 + slowest / 2;
	if (*rate == 0)
		*rate = 1;
}
