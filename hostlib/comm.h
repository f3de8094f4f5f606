/* SPDX-License-Identifier: Apache-2.0 */
/* A communicator: the parts of it, and the queue of what it has to do. */
#ifndef INA_COMM_H
#define INA_COMM_H

#include "connection.h"
#include "control.h"
#include "memory.h"
#include "options.h"
#include "ring.h"
#include "verdict.h"
#include "window.h"

struct ina_request {
	struct ina_comm *comm;
	struct ina_request *next;
	const void *send;
	void *recv;
	size_t count;
	enum ina_type type;
	enum ina_op op;
	bool active; /* its turn has come: transferring, memory held */
	bool done;
	enum ina_status status;
	unsigned int entries[2]; /* registrations */
	unsigned int entry_count;
};

struct ina_comm {
	int rank;
	int ranks;
	struct ina_settings settings;
	uint64_t job_id;
	unsigned int window_packets;
	struct ina_control control;
	struct ina_fabric fabric;
	struct ina_memory memory;
	struct ina_window window;
	struct ina_ring ring;
	bool plain;      /* plain.h: what comes back is the predecessor's */
	bool aggregated; /* the JOIN came back as a sum; or plain: the window is at work */

	struct ina_failure failure; /* not INA_OK: the communicator is dead, and of this */
	struct ina_failure latest;  /* for ina_error() */

	struct ina_request *first; /* the one whose turn it is */
	struct ina_request *last;
	struct ina_call current;
	struct ina_call previous;
	int64_t deadline_ms;   /* of the first request */
	int64_t progressed_ms; /* when something last completed */
	struct ina_stats stats;
};

/* How long without a completion until rank 0 is told that this rank waits. */
#define INA_STALL_MS 1000

/*
 * Takes the completions that are there. *count: how many. An error is a fault of this rank, not
 * yet of the communicator.
 */
enum ina_status ina_progress_poll(struct ina_comm *comm, int *count, struct ina_failure *failure);

/*
 * As ina_progress_poll(), but if nothing is there waits for a completion, or for news on the
 * control channel (which are taken in), up to timeout_ms.
 */
enum ina_status ina_progress_wait(struct ina_comm *comm, int timeout_ms, int *count,
                                  struct ina_failure *failure);

/* Opens and closes everything but what the struct holds. close is safe at any stage. */
enum ina_status ina_comm_open(struct ina_comm *comm, struct ina_failure *failure);
enum ina_status ina_comm_close(struct ina_comm *comm, struct ina_failure *failure);

/* This rank's part of a fault; failure may be NULL. Settles it: the communicator is dead then. */
void ina_comm_fault(struct ina_comm *comm, const struct ina_failure *failure);

/* Advances the first request as far as it goes; waits for it up to timeout_ms if that is not 0. */
void ina_collective_step(struct ina_comm *comm, int timeout_ms);

/* Ends all requests with the communicator's failure. */
void ina_collective_abort(struct ina_comm *comm);

#endif
