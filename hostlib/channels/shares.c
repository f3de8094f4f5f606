/* SPDX-License-Identifier: Apache-2.0 */
/* Weights, and what follows from them. */
#include "shares.h"

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

void ina_shares_weigh(uint32_t lost, int channels, uint32_t *weights)
{
	bool all_lost = lost == ((uint32_t)1 << channels) - 1;

	for (int c = 0; c < channels; c++)
		weights[c] = all_lost || !(lost >> c & 1);
}
