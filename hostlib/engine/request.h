/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine does to one request. */
#ifndef INA_ENGINE_REQUEST_H
#define INA_ENGINE_REQUEST_H

#include "comm.h"

/* A request that is nowhere yet, NULL: no memory; and its place at the end of the queue. */
struct ina_request *ina_request_make(struct ina_comm *comm, const struct ina_collective *what);
void ina_request_append(struct ina_comm *comm, struct ina_request *request);

/* This one and those behind it are done; they are not in the queue. */
void ina_request_end_all(struct ina_request *request, enum ina_status status);

/* Makes the request's transfer, and holds its memory if the algorithm asks for that. */
enum ina_status ina_request_prepare(struct ina_request *request, struct ina_failure *failure);

/* Before it goes among the hosts: memory for its wide partial results, if it has any. */
enum ina_status ina_request_make_wide(struct ina_request *request, const struct ina_hosts *hosts,
                                      struct ina_failure *failure);

/*
 * Gives back the registrations that it holds: when so many messages are acknowledged, or (0) now.
 */
void ina_request_release(struct ina_request *request, uint64_t until);

/* Would it read or write what an earlier one is yet to write, or write what that one reads? */
bool ina_request_depends(const struct ina_request *request, const struct ina_request *earlier);

#endif
