/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators that carry another one's elements, as its algorithm sees them: the rail of a
 * machine with several ranks, or channels. They have networks and control channels of their own,
 * and recover by themselves; a fault that they do not recover from is one of the communicator they
 * belong to.
 */
#ifndef INA_CHANNELS_STRANDS_H
#define INA_CHANNELS_STRANDS_H

#include "hostlib/engine/comm.h"

/*
 * Takes each of them as far as it goes without a wait; looked_at: looks round as well, for what is
 * no completion. Returns whether anything came of it.
 */
bool ina_strands_run(const struct ina_strands *strands, bool looked_at);

/* Takes part in what other ranks need of this one, also of those that have nothing to do. */
void ina_strands_attend(const struct ina_strands *strands);

/* Has one of them failed? */
bool ina_strands_have_failed(const struct ina_strands *strands, struct ina_failure *failure);

/* What they wait for: fills fds, and returns how many; after arm(), these tell of all that comes.
 */
int ina_strands_pollfds(const struct ina_strands *strands, struct pollfd *fds);
void ina_strands_arm(const struct ina_strands *strands);

/* Does the descriptor, which is ready, tell of completions, and of nothing else? */
bool ina_strands_is_work(const struct ina_strands *strands, const struct pollfd *fd);

/* The communicator has failed: so have they. */
void ina_strands_abort(const struct ina_strands *strands, const struct ina_failure *failure);

/*
 * Registers memory for good wherever the communicator's elements go from the caller's memory: with
 * its own device, or its channels'. INA_OK or INA_ERR_MEMORY.
 */
enum ina_status ina_strands_register(struct ina_comm *comm, void *memory, size_t bytes,
                                     struct ina_failure *failure);

/* Ends that there, as ina_memory_forget() does. */
enum ina_status ina_strands_forget(struct ina_comm *comm, const void *memory, size_t bytes,
                                   struct ina_failure *failure);

/* What the communicator's statistics have of theirs. */
void ina_strands_count(const struct ina_strands *strands, struct ina_stats *stats);

#endif
