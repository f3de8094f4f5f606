/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduces over several channels: communicators of the same ranks, each with separate
 * connections, a separate job at the aggregators, and a separate tree of switches. Elements are cut
 * into steps, and each step into one piece for each channel (steps.h).
 */
#ifndef INA_CHANNELS_CHANNELS_H
#define INA_CHANNELS_CHANNELS_H

#include "steps.h"

/*
 * Creates the channels of a communicator whose strands are open. unit_bytes must be the same on all
 * ranks. Returns INA_OK or INA_ERR_MEMORY.
 */
enum ina_status ina_channels_open(struct ina_comm *comm, size_t unit_bytes,
                                  struct ina_failure *failure);

/* Its functions take a struct ina_channels. */
extern const struct ina_algorithm_row ina_channels_algorithm;

/*
 * Called after the last all-reduce, on all ranks, channel by channel: waits for the channel's
 * trial.
 */
void ina_channels_finish(struct ina_channels *channels, int channel);

/*
 * Called between all-reduces: waits up to timeout_ms for an event, and takes part in recoveries
 * that other ranks need.
 */
void ina_channels_attend(struct ina_channels *channels, int timeout_ms);

#endif
