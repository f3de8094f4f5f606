/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of the library that goes on with a communicator while its program does something else.
 * It holds the communicator's lock but while it sleeps; so do the public calls, all of which are
 * between ina_enter() and ina_leave(). Without such a thread there is no lock.
 */
#ifndef INA_API_PROGRESS_H
#define INA_API_PROGRESS_H

#include "hostlib/engine/comm.h"

/* Of a communicator that is open. INA_OK, INA_ERR_MEMORY or INA_ERR_SYSTEM. */
enum ina_status ina_progress_start(struct ina_comm *comm, struct ina_failure *failure);

/* The thread has ended when it returns; no other one is in a call. Without one, nothing. */
void ina_progress_stop(struct ina_comm *comm);

void ina_enter(const struct ina_comm *comm);
void ina_leave(const struct ina_comm *comm);

/* There is something new to do; from any thread, with the lock or without. */
void ina_progress_wake(const struct ina_comm *comm);

/* Inside: waits until the request is done, whoever goes on with it. */
void ina_progress_await(const struct ina_request *request);

#endif
