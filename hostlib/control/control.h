/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control channel: TCP connections between all ranks, open as long as the communicator.
 * Those to rank 0 carry what ranks agree on at open and close, and the faults that they tell of.
 * The others carry nothing until the end (mesh.h): by them each rank notices by itself that
 * another one is gone, whatever the rest of them is doing.
 *
 * What arrives is put where it belongs and looked at when somebody needs it.
 */
#ifndef INA_CONTROL_CONTROL_H
#define INA_CONTROL_CONTROL_H

#include <poll.h>
#include <stdbool.h>

#include "hostlib/options/error.h"
#include "link.h"

/* What this rank knows of another one. */
struct ina_peer {
	struct ina_link link; /* fd -1: there is no connection between the two */
	bool gone;            /* it has ended without a word */
	bool left;            /* it has ended with a farewell */
	/* At rank 0. */
	bool has_report;
	bool has_fault;
	struct ina_report report;
	struct ina_call stall; /* kind NONE: none that it has told of, and not taken back */
	struct ina_fault fault;
};

struct ina_control {
	int rank;
	int ranks;
	struct ina_peer *peers; /* by rank, this rank's own unused */
	uint32_t phase;         /* agreements so far */
	uint64_t unknown_peers; /* connections to this rank that were no rank's */
	bool stall_told;        /* and not taken back */
	bool news;              /* set by whatever arrives, cleared by whoever looks at it */
	/* The first error with which a rank that has left said farewell; INA_OK: none yet. */
	struct ina_failure heard;
	/* Not at rank 0: what it said. */
	bool has_decision;
	bool asked;
	bool has_diagnosis;
	bool has_plan;
	struct ina_decision decision;
	struct ina_decision diagnosis;
	struct ina_plan plan;
};

/* Makes an empty control block; INA_OK or INA_ERR_MEMORY. ina_control_close() is safe either way.
 */
enum ina_status ina_control_init(struct ina_control *control, int rank, int ranks,
                                 struct ina_failure *failure);
void ina_control_close(struct ina_control *control);

/* A frame of this rank, all zero but for its head. */
struct ina_control_frame ina_control_frame(const struct ina_control *control,
                                           enum ina_control_type type);

/* Sends to a peer, with a short wait; a peer that cannot be sent to is gone. */
void ina_control_send(struct ina_control *control, int peer, struct ina_control_frame *frame);

/* Sends to all to whom there is a connection. */
void ina_control_broadcast(struct ina_control *control, struct ina_control_frame *frame);

/*
 * Tells all that this rank says nothing more, so that the end of its connections is no death.
 * failure: that of the communicator, the same for all ranks; status INA_OK: it was closed.
 */
void ina_control_farewell(struct ina_control *control, const struct ina_failure *failure);

/* Is the connection to the rank at its end, with a farewell or without? */
bool ina_control_is_absent(const struct ina_control *control, int rank);

/*
 * Has a rank gone without a word, or left with an error? Then the failure names those that are
 * gone; if there are none, it is what was said at farewell. Who has left without an error has
 * closed, as all have agreed to.
 */
bool ina_control_lost(const struct ina_control *control, struct ina_failure *failure);

/* INA_ERR_PEER with "rank 2 is gone": those whose flag is set. */
enum ina_status ina_fail_gone(struct ina_failure *failure, const unsigned char *gone, int ranks);

/* Waits up to timeout_ms for anything, and takes in all that has come. */
void ina_control_pump(struct ina_control *control, int timeout_ms);

/* Fills fds (room for INA_MAX_RANKS) with what to wait for; returns how many. */
int ina_control_pollfds(const struct ina_control *control, struct pollfd *fds);

#endif
