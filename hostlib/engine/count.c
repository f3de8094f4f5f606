/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of ways. */
#include "count.h"

#include "collective.h"

static void count_reason(struct ina_comm *comm)
{
	struct ina_stats *stats = &comm->stats;

	if (comm->settings.options.algorithm == INA_ALGORITHM_RING)
		stats->calls_unasked++;
	else if (!comm->first->apart)
		stats->calls_without++;
	else if (comm->first->transfer.part != INA_WHOLE)
		stats->calls_halved++;
	else
		stats->calls_unfit++;
}

void ina_count_call(struct ina_comm *comm, const struct ina_algorithm_row *algorithm,
                    const void *state)
{
	struct ina_stats *stats = &comm->stats;

	if (algorithm == &ina_in_network_algorithm) {
		stats->calls_aggregated++;
		return;
	}
	if (algorithm != &ina_hosts_algorithm && algorithm != &ina_apart_algorithm)
		return;
	/* The one's state begins with the other's. */
	if (((const struct ina_hosts *)state)->doubles)
		stats->calls_doubling++;
	else
		stats->calls_ring++;
	count_reason(comm);
}

enum way { RING = 1, DOUBLING = 2, AGGREGATED = 4, UNASKED = 8, UNFIT = 16, WITHOUT = 32 };

uint32_t ina_way_by_rail(const struct ina_stats *before, const struct ina_stats *now)
{
	uint32_t reason = (now->calls_unasked != before->calls_unasked   ? UNASKED
	                   : now->calls_unfit != before->calls_unfit     ? UNFIT
	                   : now->calls_without != before->calls_without ? WITHOUT
	                                                                 : 0u);

	if (now->calls_ring != before->calls_ring)
		return RING | reason;
	if (now->calls_doubling != before->calls_doubling)
		return DOUBLING | reason;
	return now->calls_aggregated != before->calls_aggregated ? AGGREGATED : 0u;
}

void ina_count_way(struct ina_stats *stats, uint32_t way)
{
	stats->calls_ring += (way & RING) != 0;
	stats->calls_doubling += (way & DOUBLING) != 0;
	stats->calls_aggregated += (way & AGGREGATED) != 0;
	stats->calls_unasked += (way & UNASKED) != 0;
	stats->calls_unfit += (way & UNFIT) != 0;
	stats->calls_without += (way & WITHOUT) != 0;
}
