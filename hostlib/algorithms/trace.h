/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks find out where they are: each sends a TRACE (lookout.h), and an all-reduce among the hosts
 * tells all of them what all TRACEs have met. Then network->tree is the tree, the same on all
 * ranks. None of the parts waits: before each the caller takes what has completed.
 */
#ifndef INA_ALGORITHMS_TRACE_H
#define INA_ALGORITHMS_TRACE_H

#include "network.h"

/* Is a TRACE no longer than a message may be? Else nobody sends one, and the tree is unknown. */
bool ina_trace_fits(const struct ina_network *network);

/* Begins to tell all ranks what the TRACE that came to this one has met, or that none came. */
enum ina_status ina_trace_share(struct ina_network *network, struct ina_failure *failure);

/* Goes on with that after completions. *done: network->tree is made, and says where this rank is.
 */
enum ina_status ina_trace_advance(struct ina_network *network, bool *done,
                                  struct ina_failure *failure);

#endif
