/* SPDX-License-Identifier: Apache-2.0 */
/* Which way calls went, and why not by the aggregator. */
#ifndef INA_ENGINE_COUNT_H
#define INA_ENGINE_COUNT_H

#include "comm.h"

/* The first request, which is done by this algorithm. */
void ina_count_call(struct ina_comm *comm, const struct ina_algorithm_row *algorithm,
                    const void *state);

/* The way of a call, of which a rail has carried out a part in calls of its own: by its statistics
 * before, and now. It went by ring if any of these did. */
uint32_t ina_way_by_rail(const struct ina_stats *before, const struct ina_stats *now);

/* Counts a call that went so. */
void ina_count_way(struct ina_stats *stats, uint32_t way);

#endif
