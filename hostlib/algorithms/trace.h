/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks find out where they are: each sends a TRACE on the aggregated connection, which is no flow
 * yet, and an all-reduce among the hosts tells all of them what all TRACEs have met. Then
 * network->tree is the tree, the same on all ranks.
 *
 * In parts, of which none waits: before a part the caller takes what has completed. All ranks have
 * done the first part before one begins the second: no aggregator holds a TRACE back until its
 * receiver is there, as it does with a JOIN, and what comes too early is only sent again after the
 * RNR timer, which rdma_rxe counts in jiffies.
 */
#ifndef INA_ALGORITHMS_TRACE_H
#define INA_ALGORITHMS_TRACE_H

#include "network.h"

/* Is a TRACE no longer than a message may be? Else nobody sends one, and the tree is unknown. */
bool ina_trace_fits(const struct ina_network *network);

/*
 * On a fresh connection in the order of ranks: forgets what was known of the tree, and expects the
 * predecessor's TRACE. ina_innet_advance() sends this rank's then, until ina_innet_is_exchanged().
 */
enum ina_status ina_trace_expect(struct ina_network *network, struct ina_failure *failure);

/* It is over, and a TRACE came or has not come in time: begins to tell all ranks. */
enum ina_status ina_trace_share(struct ina_network *network, bool came,
                                struct ina_failure *failure);

/* Goes on with that after completions. *done: network->tree is made, and says where this rank is.
 */
enum ina_status ina_trace_advance(struct ina_network *network, bool *done,
                                  struct ina_failure *failure);

#endif
