/* SPDX-License-Identifier: Apache-2.0 */
/* Weights, and what follows from them. */
#include "shares.h"

#define ALIKE      (INA_SHARES_WHOLE / 16) /* differences that come and go with the measurement */
#define LEAST_PART (INA_SHARES_WHOLE / 16) /* so that there is something to measure */

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

static bool is_lost(const struct ina_shares_known *known, int channel)
{
	return known->lost >> channel & 1;
}

void ina_shares_open(struct ina_shares_known *known, uint32_t lost)
{
	known->lost = lost;
	for (int c = 0; c < INA_MAX_CHANNELS; c++)
		known->parts[c] = INA_SHARES_WHOLE;
}

bool ina_shares_differ(const struct ina_shares_known *known, int channels)
{
	for (int c = 0; c < channels; c++)
		if (!is_lost(known, c) && known->parts[c] != INA_SHARES_WHOLE)
			return true;
	return false;
}

void ina_shares_weigh(const struct ina_shares_known *known, int channels, uint32_t *weights)
{
	bool all_lost = known->lost == ((uint32_t)1 << channels) - 1;
	bool differ = ina_shares_differ(known, channels);

	for (int c = 0; c < channels; c++)
		weights[c] = all_lost ? 1 : is_lost(known, c) ? 0 : differ ? known->parts[c] : 1;
}

int32_t ina_shares_idle(uint32_t dry, uint32_t ends)
{
	return ends > 0 ? (int32_t)(dry * INA_SHARES_WHOLE / ends) : INT32_MAX;
}

void ina_shares_learn(struct ina_shares_known *known, int channels, const int32_t *idle)
{
	int32_t least = INT32_MAX;
	int32_t most = 0;
	uint32_t largest = 1;

	for (int c = 0; c < channels; c++) {
		if (is_lost(known, c))
			continue;
		if (idle[c] < least)
			least = idle[c];
		if (idle[c] > most)
			most = idle[c];
	}
	if (most == INT32_MAX || most - least <= ALIKE)
		return;
	for (int c = 0; c < channels; c++) {
		uint32_t *part = &known->parts[c];

		if (is_lost(known, c))
			continue;
		*part += *part * (uint32_t)(idle[c] - least) / (2 * INA_SHARES_WHOLE);
		if (*part > largest)
			largest = *part;
	}
	for (int c = 0; c < channels; c++) {
		uint32_t *part = &known->parts[c];

		if (is_lost(known, c))
			continue;
		*part = *part * INA_SHARES_WHOLE / largest;
		if (*part < LEAST_PART)
			*part = LEAST_PART;
	}
}
