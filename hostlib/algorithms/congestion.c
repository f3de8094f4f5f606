/* SPDX-License-Identifier: Apache-2.0 */
#include "congestion.h"

/* RFC 8257, section 3.3: g, the weight of the newest window. alpha starts at 1. */
#define WEIGHT (1.0 / 16)

void ina_congestion_reset(struct ina_congestion *congestion, uint32_t most)
{
	congestion->most = most;
	congestion->window = most;
	congestion->alpha = 1;
	congestion->end = 0;
	congestion->messages = 0;
	congestion->marked = 0;
}

static void end_window(struct ina_congestion *congestion)
{
	const double share = (double)congestion->marked / congestion->messages;

	congestion->alpha += WEIGHT * (share - congestion->alpha);
	if (congestion->marked > 0)
		congestion->window *= 1 - congestion->alpha / 2;
	else
		congestion->window += 1;
	if (congestion->window < 1)
		congestion->window = 1;
	if (congestion->window > congestion->most)
		congestion->window = congestion->most;
}

void ina_congestion_summed(struct ina_congestion *congestion, uint64_t number, bool is_marked,
                           uint64_t posted)
{
	congestion->messages++;
	congestion->marked += is_marked;
	if (number < congestion->end)
		return;
	end_window(congestion);
	congestion->end = posted;
	congestion->messages = 0;
	congestion->marked = 0;
}

uint32_t ina_congestion_window(const struct ina_congestion *congestion)
{
	return congestion->is_controlled ? (uint32_t)congestion->window : congestion->most;
}
