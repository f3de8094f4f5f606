/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress thread: a thread of the library that makes progress on a communicator while the
 * program computes. It is inside the communicator except while it sleeps, and public calls are
 * inside from ina_enter() on. One thread at a time is inside, in the order of arrival, and none
 * stays inside for long. Without a progress thread there is no lock.
 */
#ifndef INA_API_PROGRESS_H
#define INA_API_PROGRESS_H

#include "hostlib/engine/comm.h"

/*
 * Starts the progress thread of an open communicator. Returns INA_OK, INA_ERR_MEMORY or
 * INA_ERR_SYSTEM.
 */
enum ina_status ina_progress_start(struct ina_comm *comm, struct ina_failure *failure);

/*
 * Stops the progress thread and waits for its end; no other thread may be in a call. Does nothing
 * if there is no such thread.
 */
void ina_progress_stop(struct ina_comm *comm);

void ina_enter(const struct ina_comm *comm);
void ina_leave(const struct ina_comm *comm);

/*
 * Called inside, when the state is consistent: passes waiting lines to the program's log function,
 * which may call the library. This thread is not inside while that function runs.
 */
void ina_tell(struct ina_comm *comm);

/* ina_tell() and ina_leave(): the end of a call that may have produced log lines. */
void ina_end_call(struct ina_comm *comm);

/*
 * Called inside: returns INA_ERR_ARGUMENT if this thread is in the program's log function. A
 * blocking call there could wait for this thread itself, and the code that called the log function
 * still needs the communicator.
 */
enum ina_status ina_check_wait(struct ina_comm *comm, const char *call);

/*
 * Wakes the progress thread because there is new work. May be called from any thread, inside or
 * not.
 */
void ina_progress_wake(const struct ina_comm *comm);

/* Called inside: waits until the request is done, whichever thread makes progress on it. */
void ina_progress_await(const struct ina_request *request);

#endif
