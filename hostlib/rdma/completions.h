/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completions: takes them from the queue, passes them to the caller's function, and waits for them.
 */
#ifndef INA_RDMA_COMPLETIONS_H
#define INA_RDMA_COMPLETIONS_H

#include "connection.h"

struct ina_completions {
	struct ina_transport *transport;
	struct ina_control *control;
	unsigned int poll_count; /* how often to poll the queue before a wait */
	/*
	 * Receives each completion. An error is a fault of this rank; whether the communicator ends
	 * is decided later.
	 */
	enum ina_status (*take)(void *context, const struct ibv_wc *wc,
	                        struct ina_failure *failure);
	void *context;
};

/*
 * Takes the completions that are in the queue, and sets *count to their number. All are passed to
 * take(), even if one fails; returns the most serious error.
 */
enum ina_status ina_completions_poll(const struct ina_completions *completions, int *count,
                                     struct ina_failure *failure);

/*
 * Like ina_completions_poll(), but polls up to poll_count times more if the queue is empty. If it
 * stays empty, arms the completion channel and polls once more. only_messages: completed sends need
 * not cause an event.
 */
enum ina_status ina_completions_look(const struct ina_completions *completions, bool only_messages,
                                     int *count, struct ina_failure *failure);

/* Calls ina_completions_look() if before_wait is set, and ina_completions_poll() otherwise. */
enum ina_status ina_completions_take(const struct ina_completions *completions, bool before_wait,
                                     bool only_messages, int *count, struct ina_failure *failure);

/*
 * Called after ina_completions_look() has found nothing. Waits up to timeout_ms for a completion,
 * for a frame on the control channel, or for an event of the device or the connection manager
 * (ina_transport_attend()). Takes completions and frames that have arrived.
 */
enum ina_status ina_completions_sleep(const struct ina_completions *completions, bool only_messages,
                                      int timeout_ms, int *count, struct ina_failure *failure);

/*
 * ina_completions_look() and, if that finds nothing, ina_completions_sleep(), for all completions.
 */
enum ina_status ina_completions_wait(const struct ina_completions *completions, int timeout_ms,
                                     int *count, struct ina_failure *failure);

/*
 * Arms the channel for the next completion. Completions that are already in the queue cause no
 * event.
 */
void ina_completions_arm(const struct ina_completions *completions);

#endif
