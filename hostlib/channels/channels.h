/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce over several channels: communicators of the same ranks, each with connections, a job
 * at the aggregators and a tree of switches of its own. Elements are cut into steps, and each step
 * into a piece for each channel (steps.h).
 */
#ifndef INA_CHANNELS_CHANNELS_H
#define INA_CHANNELS_CHANNELS_H

#include "steps.h"

/*
 * For a communicator whose strands are open, the channels; unit_bytes is the same at all ranks.
 * INA_OK, INA_ERR_MEMORY.
 */
enum ina_status ina_channels_open(struct ina_comm *comm, size_t unit_bytes,
                                  struct ina_failure *failure);

/* Its functions take a struct ina_channels. */
extern const struct ina_algorithm_row ina_channels_algorithm;

/*
 * After the last all-reduce, on all ranks, channel by channel: what is under way on it beside the
 * steps ends.
 */
void ina_channels_finish(struct ina_channels *channels, int channel);

/* Between all-reduces: waits up to timeout_ms for anything, and does what others need. */
void ina_channels_attend(struct ina_channels *channels, int timeout_ms);

#endif
