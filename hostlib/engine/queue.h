/* SPDX-License-Identifier: Apache-2.0 */
/* Requests begin and end in the order in which they were started. */
#ifndef INA_ENGINE_QUEUE_H
#define INA_ENGINE_QUEUE_H

#include "comm.h"

/* Starts the first request if it is not under way, and those that may go with it. */
enum ina_status ina_queue_start(struct ina_comm *comm, struct ina_failure *failure);

/*
 * Starts the first request (after a fallback: what is left of it), whose turn it is, and those that
 * may go with it.
 */
enum ina_status ina_queue_start_first(struct ina_comm *comm, struct ina_failure *failure);

/*
 * Starts those that may go behind the first one. If the buffers of one cannot be registered now, it
 * starts when earlier requests are done.
 */
enum ina_status ina_queue_start_next(struct ina_comm *comm, struct ina_failure *failure);

/*
 * Ends the first request; the next one's turn begins if it is under way already. Its registrations
 * are in use until so many messages are acknowledged.
 */
void ina_queue_finish(struct ina_comm *comm, enum ina_status status, uint64_t until);

/* The first request's result is there, by this algorithm. */
void ina_queue_finish_done(struct ina_comm *comm, const struct ina_algorithm_row *algorithm,
                           void *state);

#endif
