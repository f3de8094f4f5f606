/* SPDX-License-Identifier: Apache-2.0 */
/* Which way calls went, and why not by the aggregator. */
#ifndef INA_ENGINE_COUNT_H
#define INA_ENGINE_COUNT_H

#include "comm.h"

/* The way of a call: one of the first three, and one of the others where it is not the third. */
enum ina_way {
	INA_WAY_RING = 1,
	INA_WAY_DOUBLING = 2,
	INA_WAY_AGGREGATED = 4,
	INA_WAY_UNASKED = 8,
	INA_WAY_UNFIT = 16,
	INA_WAY_HALVED = 32,
	INA_WAY_WITHOUT = 64,
};

/* Counts the first request, which is done by this algorithm, and notes its way. */
void ina_count_call(struct ina_comm *comm, const struct ina_algorithm_row *algorithm,
                    const void *state);

/*
 * The way of a call that others have carried out by parts: of all their ways, one or-ed with the
 * other. It went by ring if any of these did.
 */
uint32_t ina_way_of_parts(uint32_t ways);

/* Counts a call that went so; 0: none. */
void ina_count_way(struct ina_stats *stats, uint32_t way);

#endif
