/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine drives a communicator: it makes all progress on the queue of collectives that the
 * algorithm in use and the other ranks allow. The layers above start requests here, and wait for
 * them.
 */
#ifndef INA_ENGINE_ENGINE_H
#define INA_ENGINE_ENGINE_H

#include "comm.h"
#include "request.h"

/* After this time without a completion, a rank reports that it waits, in milliseconds. */
#define INA_STALL_MS 1000

/* The longest wait before a rank looks at the clock and at its neighbours, in milliseconds. */
#define INA_LOOK_MS 500

/* To be called before any other function. */
void ina_comm_init(struct ina_comm *comm, const struct ina_settings *settings);

/* Sets the algorithm for later all-reduces, or for the rest of the first one. */
void ina_comm_use(struct ina_comm *comm, const struct ina_algorithm_row *algorithm, void *state);

/*
 * Puts a checked call at the end of the queue, or into the calling thread's group. Returns INA_OK,
 * INA_ERR_MEMORY, or the error with which the communicator has failed.
 */
enum ina_status ina_request_start(struct ina_comm *comm, const struct ina_collective *what,
                                  struct ina_request **request);

/* Waits until the request is done, and then calls ina_request_take(). */
enum ina_status ina_request_wait(struct ina_request *request);

/*
 * Makes progress on the first request; waits for it up to timeout_ms if that is not 0. Returns
 * whether there was any progress.
 */
bool ina_comm_step(struct ina_comm *comm, int timeout_ms);

/*
 * Like ina_comm_step() without waiting, but looks only at the completions that the algorithm waits
 * for. For callers that are notified when there is a reason to look further.
 */
bool ina_comm_work(struct ina_comm *comm);

/*
 * Reports this rank's part of a fault (NULL: it has seen no error itself), and begins to recover
 * from it. ina_comm_recover() continues the recovery. At its end all requests end with one failure,
 * or continue over the ring.
 */
void ina_comm_fault(struct ina_comm *comm, const struct ina_failure *failure);

/* Takes a step of the recovery; waits up to timeout_ms. Returns whether there was any progress. */
bool ina_comm_recover(struct ina_comm *comm, int timeout_ms);

/* Called between all-reduces: takes part in a recovery that other ranks need. */
void ina_comm_attend(struct ina_comm *comm);

/*
 * If a thread has called ina_abort() and the communicator has not failed before, it fails now: the
 * other ranks are informed, and all requests end. Returns whether it did.
 */
bool ina_comm_take_abort(struct ina_comm *comm);

/*
 * Called before the caller polls the descriptors: arms them, and handles events that have arrived,
 * because these would not make the descriptors ready. Stops when the request `until` is done (NULL:
 * when all are), or after a few steps. Returns false if more events may have arrived; the caller
 * must not wait then.
 */
bool ina_comm_exhaust(struct ina_comm *comm, const struct ina_request *until);

/*
 * Called when the communicator has failed: ends all requests with that failure. Afterwards the
 * device does not write to their memory.
 */
void ina_comm_abort(struct ina_comm *comm);

/* Fills in the descriptors to poll, at most INA_COMM_FDS, and returns their number. */
#define INA_COMM_FDS (INA_ALGORITHM_FDS + INA_NEIGHBOURS_MAX)
int ina_comm_pollfds(const struct ina_comm *comm, struct pollfd *fds);

/*
 * For ina_comm_fd(): a descriptor that stands for all these, made at the first call. Returns INA_OK
 * or INA_ERR_SYSTEM.
 */
enum ina_status ina_comm_open_pollset(struct ina_comm *comm, int *fd);

/*
 * Called before the caller waits for a request by that descriptor: arms it, and handles some of the
 * events that have arrived. The request may be done afterwards. If more events may have arrived,
 * the descriptor is ready immediately.
 */
void ina_comm_arm_pollset(struct ina_comm *comm, const struct ina_request *request);

#endif
