/* SPDX-License-Identifier: Apache-2.0 */
/* Counts how calls were carried out, and why they did not use the aggregator. */
#ifndef INA_ENGINE_COUNT_H
#define INA_ENGINE_COUNT_H

#include "comm.h"

/*
 * How a call was carried out: one of the first three, and if that is not INA_WAY_AGGREGATED, one of
 * the others as the reason.
 */
enum ina_way {
	INA_WAY_RING = 1,
	INA_WAY_DOUBLING = 2,
	INA_WAY_AGGREGATED = 4,
	INA_WAY_UNASKED = 8,
	INA_WAY_UNFIT = 16,
	INA_WAY_HALVED = 32,
	INA_WAY_WITHOUT = 64,
};

/*
 * Counts the first request, which this algorithm has finished, and stores how it was carried out.
 */
void ina_count_call(struct ina_comm *comm, const struct ina_algorithm_row *algorithm,
                    const void *state);

/*
 * Combines the ways of the parts of a call, which were or-ed together: the call counts as the
 * ring's if any part used the ring.
 */
uint32_t ina_way_of_parts(uint32_t ways);

/* Counts a call that was carried out in this way; 0: does not count it. */
void ina_count_way(struct ina_stats *stats, uint32_t way);

#endif
