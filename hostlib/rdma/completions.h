/* SPDX-License-Identifier: Apache-2.0 */
/* Completions: taken from the queue, given to who knows what they are of, and waited for. */
#ifndef INA_RDMA_COMPLETIONS_H
#define INA_RDMA_COMPLETIONS_H

#include "connection.h"

struct ina_completions {
	struct ina_fabric *fabric;
	struct ina_control *control;
	unsigned int poll_count; /* looks at the queue before a wait */
	/* Given each completion. An error is a fault of this rank, not yet of the communicator. */
	enum ina_status (*take)(void *context, const struct ibv_wc *wc,
	                        struct ina_failure *failure);
	void *context;
};

/* Takes the completions that are there. *count: how many; all are taken, whatever failed. */
enum ina_status ina_completions_poll(const struct ina_completions *completions, int *count,
                                     struct ina_failure *failure);

/*
 * The same, but looks poll_count times if nothing is there, and once more after the channel has
 * been told to tell of the next one. only_messages: it need not tell of sends that complete.
 */
enum ina_status ina_completions_look(const struct ina_completions *completions, bool only_messages,
                                     int *count, struct ina_failure *failure);

/* before_wait: ina_completions_look(), else ina_completions_poll(). */
enum ina_status ina_completions_take(const struct ina_completions *completions, bool before_wait,
                                     bool only_messages, int *count, struct ina_failure *failure);

/*
 * After that: waits up to timeout_ms for a completion, for frames on the control channel, which are
 * taken in, or for what the device and the connection manager tell of (ina_fabric_attend()). Takes
 * the completions.
 */
enum ina_status ina_completions_sleep(const struct ina_completions *completions, bool only_messages,
                                      int timeout_ms, int *count, struct ina_failure *failure);

/* The one, and if there was nothing, the other; for all completions. */
enum ina_status ina_completions_wait(const struct ina_completions *completions, int timeout_ms,
                                     int *count, struct ina_failure *failure);

/* The channel will tell of the next completion, but not of those that are there. */
void ina_completions_arm(const struct ina_completions *completions);

#endif
