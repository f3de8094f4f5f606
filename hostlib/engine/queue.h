/* SPDX-License-Identifier: Apache-2.0 */
/* Requests begin and end in the order in which they were started. */
#ifndef INA_ENGINE_QUEUE_H
#define INA_ENGINE_QUEUE_H

#include "comm.h"

/* Starts the first request if it is not under way, and those that may run at the same time. */
enum ina_status ina_queue_start(struct ina_comm *comm, struct ina_failure *failure);

/*
 * Starts the first request, which is the current call (after a fallback: the rest of it), and those
 * that may run at the same time.
 */
enum ina_status ina_queue_start_first(struct ina_comm *comm, struct ina_failure *failure);

/*
 * Starts those that may run at the same time as the first one. If the buffers of one cannot be
 * registered now, it starts when earlier requests are done.
 */
enum ina_status ina_queue_start_next(struct ina_comm *comm, struct ina_failure *failure);

/*
 * Ends the first request. If the next one is under way already, its call becomes the current one.
 * The registrations of the request are in use until `until` messages are acknowledged.
 */
void ina_queue_finish(struct ina_comm *comm, enum ina_status status, uint64_t until);

/* Ends the first request, which this algorithm has finished, with its result. */
void ina_queue_finish_done(struct ina_comm *comm, const struct ina_algorithm_row *algorithm,
                           void *state);

#endif
