/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of the library that goes on with a communicator while its program does something else.
 * It is inside of the communicator except while it sleeps; so are the public calls, from
 * ina_enter() on. One thread at a time is inside, in the order in which they came, and none stays
 * for long. Without such a thread there is no lock.
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

/*
 * Inside, where all is in order: gives the lines that wait to the program's log function, which may
 * call the library. No thread is inside while that runs.
 */
void ina_tell(struct ina_comm *comm);

/* ina_tell(), and ina_leave(): the end of a call that may have had something to tell. */
void ina_end_call(struct ina_comm *comm);

/*
 * Inside: INA_ERR_ARGUMENT where this thread is in the program's log function. A wait there could
 * be a wait for this very thread, and the caller of the function still needs the communicator.
 */
enum ina_status ina_check_wait(struct ina_comm *comm, const char *call);

/* There is something new to do; from any thread, inside or not. */
void ina_progress_wake(const struct ina_comm *comm);

/* Inside: waits until the request is done, whoever goes on with it. */
void ina_progress_await(const struct ina_request *request);

#endif
