/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The all-reduce for machines with several ranks each. Inside a machine it uses shared memory, and
 * between machines one communicator for each rail (layout.h), with separate connections and a
 * separate job at the aggregator. With one rail this is the leader-only algorithm: local rank 0 of
 * each machine communicates for it.
 */
#ifndef INA_MACHINE_PARALLEL_H
#define INA_MACHINE_PARALLEL_H

#include "pipeline.h"

/*
 * Allocates the state for this layout, without opening anything; NULL if memory runs out. The
 * caller frees it.
 */
struct ina_parallel *ina_parallel_new(const struct ina_layout *layout);

/* Its functions take a struct ina_parallel. */
extern const struct ina_algorithm_row ina_parallel_algorithm;

/*
 * Called between all-reduces: waits up to timeout_ms for an event, and takes part in recoveries
 * that the rail's other ranks need.
 */
void ina_parallel_attend(struct ina_parallel *parallel, int timeout_ms);

#endif
