/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the tree of switches: each rank sends a TRACE (lookout.h), and an all-reduce among the
 * hosts gives all ranks the contents of all TRACEs. After that, network->tree is the same on all
 * ranks. No function here waits; the caller takes completions before each call.
 */
#ifndef INA_ALGORITHMS_TRACE_H
#define INA_ALGORITHMS_TRACE_H

#include "network.h"

/* Does a TRACE fit into a message? If not, no rank sends one, and the tree is unknown. */
bool ina_trace_fits(const struct ina_network *network);

/*
 * Begins to share with all ranks the TRACE that this rank has received, or that it has received
 * none.
 */
enum ina_status ina_trace_share(struct ina_network *network, struct ina_failure *failure);

/* Continues this after completions. *done: network->tree is ready, and this rank's place is set. */
enum ina_status ina_trace_advance(struct ina_network *network, bool *done,
                                  struct ina_failure *failure);

#endif
