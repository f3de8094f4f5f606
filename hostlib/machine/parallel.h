/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce for machines with several ranks each: inside a machine through shared memory, between
 * machines by one communicator for each rail (topology.h), with its own connections and its own job
 * at the aggregator. With one rail this is the leader-only algorithm: rank 0 of each machine speaks
 * for it.
 */
#ifndef INA_MACHINE_PARALLEL_H
#define INA_MACHINE_PARALLEL_H

#include "pipeline.h"

/* For so many ranks, of so many machines, and nothing open yet; NULL: no memory. To be freed. */
struct ina_parallel *ina_parallel_new(const struct ina_topology *topology);

/* Its functions take a struct ina_parallel. */
extern const struct ina_algorithm_row ina_parallel_algorithm;

/*
 * Between all-reduces: waits up to timeout_ms for anything, and takes part in what others of the
 * rail need of this rank.
 */
void ina_parallel_attend(struct ina_parallel *parallel, int timeout_ms);

#endif
