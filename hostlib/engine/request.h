/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on one request. */
#ifndef INA_ENGINE_REQUEST_H
#define INA_ENGINE_REQUEST_H

#include "comm.h"

/* Creates a request that is in no queue; NULL if memory runs out. */
struct ina_request *ina_request_make(struct ina_comm *comm, const struct ina_collective *what);

/* Puts it at the end of this list: the queue, or a group. */
void ina_request_append(struct ina_request **first, struct ina_request **last,
                        struct ina_request *request);

/* Returns the status of a request that is done, and gives the request back to the communicator. */
enum ina_status ina_request_take(struct ina_request *request);

/* Ends this request and those after it, which are not in the queue. */
void ina_request_end_all(struct ina_request *request, enum ina_status status);

/* Makes the request's transfer, and registers its memory if the algorithm needs this. */
enum ina_status ina_request_prepare(struct ina_request *request, struct ina_failure *failure);

/*
 * Called before the hosts carry it out: allocates memory for wide partial results, if there are
 * any.
 */
enum ina_status ina_request_make_wide(struct ina_request *request, const struct ina_hosts *hosts,
                                      struct ina_failure *failure);

/* Gives up the registrations that it holds when `until` messages are acknowledged; 0: now. */
void ina_request_release(struct ina_request *request, uint64_t until);

/*
 * Does it read or write memory that an earlier request still has to write, or write memory that the
 * earlier one reads?
 */
bool ina_request_depends(const struct ina_request *request, const struct ina_request *earlier);

/* Frees all requests of the communicator: in the queue, in groups, and those kept for later. */
void ina_requests_free(struct ina_comm *comm);

#endif
