/* SPDX-License-Identifier: Apache-2.0 */
/* Counts how calls were carried out. */
#include "count.h"

#include "collective.h"

static uint32_t reason_of(const struct ina_comm *comm)
{
	if (comm->settings.options.algorithm == INA_ALGORITHM_RING)
		return INA_WAY_UNASKED;
	if (!comm->first->apart)
		return INA_WAY_WITHOUT;
	return comm->first->transfer.part != INA_WHOLE ? INA_WAY_HALVED : INA_WAY_UNFIT;
}

void ina_count_call(struct ina_comm *comm, const struct ina_algorithm_row *algorithm,
                    const void *state)
{
	uint32_t *way = &comm->first->way;

	if (algorithm == &ina_in_network_algorithm)
		*way = INA_WAY_AGGREGATED;
	else if (algorithm != &ina_hosts_algorithm && algorithm != &ina_apart_algorithm)
		return;
	else /* struct ina_apart begins with struct ina_hosts. */
		*way = (((const struct ina_hosts *)state)->doubles ? INA_WAY_DOUBLING
		                                                   : INA_WAY_RING) |
		       reason_of(comm);
	ina_count_way(&comm->stats, *way);
}

uint32_t ina_way_of_parts(uint32_t ways)
{
	static const uint32_t reasons[] = {INA_WAY_UNASKED, INA_WAY_UNFIT, INA_WAY_HALVED,
	                                   INA_WAY_WITHOUT};
	uint32_t way = ways & INA_WAY_RING ? INA_WAY_RING : ways & INA_WAY_DOUBLING;

	if (way == 0)
		return ways & INA_WAY_AGGREGATED;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (ways & reasons[i])
			return way | reasons[i];
	}
	return way;
}

void ina_count_way(struct ina_stats *stats, uint32_t way)
{
	stats->calls_ring += (way & INA_WAY_RING) != 0;
	stats->calls_doubling += (way & INA_WAY_DOUBLING) != 0;
	stats->calls_aggregated += (way & INA_WAY_AGGREGATED) != 0;
	stats->calls_unasked += (way & INA_WAY_UNASKED) != 0;
	stats->calls_unfit += (way & INA_WAY_UNFIT) != 0;
	stats->calls_halved += (way & INA_WAY_HALVED) != 0;
	stats->calls_without += (way & INA_WAY_WITHOUT) != 0;
}
