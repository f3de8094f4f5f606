/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a communicator. ina_open() waits for the other ranks in the calling thread.
 * ina_open_start() waits for them in a thread of the library, which ends with the opening, because
 * an opening is a sequence of waits: for the ranks' TCP connections, for each channel or rail, and
 * for shared memory. Each of them has a limit, and looks at settings.stop. Until the program has
 * finished the request, only that thread uses the communicator, and the program's calls get an
 * error.
 */
#ifndef INA_API_OPENING_H
#define INA_API_OPENING_H

#include "hostlib/engine/comm.h"

/* ina_test() and ina_wait() on the request of ina_open_start(). */
enum ina_status ina_opening_test(struct ina_comm *comm, int *done);
enum ina_status ina_opening_take(struct ina_comm *comm);

/* ina_comm_fd() before the opening has finished: the descriptor is readable at its end. */
enum ina_status ina_opening_open_pollset(struct ina_comm *comm, int *fd);

/*
 * Called by ina_close(): stops the opening and finishes its request, if the program has not
 * finished it. If the opening has succeeded nevertheless, the communicator is open, and fails.
 */
void ina_opening_stop(struct ina_comm *comm);

/* Frees a communicator after ina_comm_close(), or after an opening that failed. */
void ina_comm_free(struct ina_comm *comm);

#endif
