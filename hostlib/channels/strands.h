/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strands: communicators that carry another communicator's elements, as that one's algorithm uses
 * them. A strand is the rail of a machine with several ranks, or a channel. Strands have separate
 * networks and control channels, and recover on their own. If a strand cannot recover from a fault,
 * it is a fault of the communicator to which the strand belongs.
 */
#ifndef INA_CHANNELS_STRANDS_H
#define INA_CHANNELS_STRANDS_H

#include "hostlib/engine/engine.h"

/*
 * Makes all progress on each strand that is possible without waiting. looked_at: also looks for
 * events that cause no completion. Returns whether there was any progress.
 */
bool ina_strands_run(const struct ina_strands *strands, bool looked_at);

/* Takes part in recoveries that other ranks need, also on strands that have no work. */
void ina_strands_attend(const struct ina_strands *strands);

/* Has one of them failed? */
bool ina_strands_have_failed(const struct ina_strands *strands, struct ina_failure *failure);

/*
 * ina_strands_pollfds() fills in the descriptors to poll, and returns their number. After
 * ina_strands_arm(), these become ready for every event.
 */
int ina_strands_pollfds(const struct ina_strands *strands, struct pollfd *fds);
void ina_strands_arm(const struct ina_strands *strands);

/* Does the descriptor, which is ready, report completions and nothing else? */
bool ina_strands_is_work(const struct ina_strands *strands, const struct pollfd *fd);

/* Called when the communicator has failed: lets its strands fail with the same error. */
void ina_strands_abort(const struct ina_strands *strands, const struct ina_failure *failure);

/*
 * Registers memory permanently with each device that sends or receives the communicator's elements:
 * its own, or those of its channels. Returns INA_OK or INA_ERR_MEMORY.
 */
enum ina_status ina_strands_register(struct ina_comm *comm, void *memory, size_t bytes,
                                     struct ina_failure *failure);

/* Ends these registrations, as ina_memory_forget() does. */
enum ina_status ina_strands_forget(struct ina_comm *comm, const void *memory, size_t bytes,
                                   struct ina_failure *failure);

/* Adds up the strands' counters in the communicator's statistics. */
void ina_strands_count(const struct ina_strands *strands, struct ina_stats *stats);

#endif
