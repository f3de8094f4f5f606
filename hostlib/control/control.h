/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control channel: TCP connections to a few other ranks (neighbours.h), open as long as the
 * communicator. By them each rank notices that a neighbour is gone, and tells the others.
 *
 * What the ranks say of an agreement or of a fault goes up the tree: a rank tells its parent when
 * all of its subtree have spoken. Where some have not, or the parent is outside of the library, it
 * tells all its neighbours, now and then: so it comes to rank 0 as long as there is a way of ranks
 * that are in a call. What rank 0 answers is handed on by each rank to all its neighbours.
 *
 * What arrives is put where it belongs and looked at when somebody needs it.
 */
#ifndef INA_CONTROL_CONTROL_H
#define INA_CONTROL_CONTROL_H

#include <poll.h>

#include "hostlib/options/error.h"
#include "link.h"
#include "neighbours.h"

struct ina_peer {
	int rank;
	struct ina_link link;   /* fd -1: there is no connection between the two */
	struct ina_stall stall; /* what a child has told of */
};

/* What is yet to be told of an agreement, or of a fault. */
struct ina_telling {
	bool is_new; /* something is, since the neighbours were told */
	bool is_urgent;
	bool parent_knows; /* of all of the subtree */
	int pause_ms;
	int64_t next_ms; /* for the neighbours */
};

/*
 * An agreement that some rank fails ends without the votes of the others. They may have yet to look
 * at the decision before it, and each of the two counts by itself. Four are more than that takes.
 */
#define INA_DECISIONS 4

struct ina_control {
	int rank;
	int ranks;
	int count;
	struct ina_peer neighbours[INA_NEIGHBOURS_MAX]; /* by rank */
	uint64_t unknown_peers; /* connections to this rank that were no rank's */
	bool news;              /* set by whatever arrives, cleared by whoever looks at it */
	int64_t listened_ms;    /* when the neighbours' silence was looked at */

	struct ina_ranks gone; /* who has ended without a word */
	struct ina_ranks left; /* which neighbours have, with a farewell */
	bool news_to_tell;
	/* The first error with which a rank that has left said farewell; INA_OK: none yet. */
	struct ina_failure heard;

	uint32_t phase; /* agreements so far */
	struct ina_votes votes;
	struct ina_telling votes_told;
	struct ina_decision decisions[INA_DECISIONS]; /* by phase, the newest; phase 0: none */

	uint32_t round; /* faults that were recovered from */
	bool asked;     /* there is another one, and all are to report */
	struct ina_faults faults;
	struct ina_telling faults_told;
	bool has_plan;
	struct ina_plan plan;
	bool has_diagnosis;
	struct ina_decision diagnosis;

	struct ina_call stall; /* kind NONE: this rank waits for nothing, or not for long */
	struct ina_stall stall_told;
};

/* Makes an empty control block. It allocates nothing: a rank without memory can still tell so. */
void ina_control_init(struct ina_control *control, int rank, int ranks);
void ina_control_close(struct ina_control *control);

/* The connection to a neighbour; NULL: that rank is none. */
struct ina_link *ina_control_link(struct ina_control *control, int rank);

/* A frame of this rank, all zero but for its head. */
struct ina_control_frame ina_control_frame(const struct ina_control *control,
                                           enum ina_control_type type);

/* Sends to a neighbour, with a short wait; one that cannot be sent to is gone. */
void ina_control_send(struct ina_control *control, int rank, struct ina_control_frame *frame);

/* Sends to all to whom there is a connection. */
void ina_control_broadcast(struct ina_control *control, struct ina_control_frame *frame);

/*
 * Tells all neighbours that this rank says nothing more, so that the end of its connections is no
 * death. failure: that of the communicator, which all ranks hear of; status INA_OK: it was closed.
 */
void ina_control_farewell(struct ina_control *control, const struct ina_failure *failure);

/* After a farewell at the end: until the neighbours have said theirs, for a moment. */
void ina_control_await_farewells(struct ina_control *control);

/* Is the rank known to be at its end, with a farewell or without? */
static inline bool ina_control_is_absent(const struct ina_control *control, int rank)
{
	return ina_ranks_have(&control->gone, rank) || ina_ranks_have(&control->left, rank);
}

/*
 * Has a rank gone without a word, or left with an error? Then the failure names those that are
 * gone; if there are none, it is what was said at farewell. Who has left without an error has
 * closed, as all have agreed to.
 */
bool ina_control_lost(const struct ina_control *control, struct ina_failure *failure);

/* INA_ERR_PEER with "rank 2 is gone". */
enum ina_status ina_fail_gone(struct ina_failure *failure, const struct ina_ranks *gone, int ranks);

/* What is known of the agreement of this phase, or of later ones: puts it to what was. */
void ina_control_take_votes(struct ina_control *control, const struct ina_votes *votes);

/* The same for the faults of a round. */
void ina_control_take_faults(struct ina_control *control, const struct ina_faults *faults);

/* Rank 0's decision on the agreement of this phase; NULL: none has come. */
const struct ina_decision *ina_control_decision(const struct ina_control *control, uint32_t phase);

/* There is a fault: all report, if they have not been asked to. */
void ina_control_ask(struct ina_control *control);

/* The fault has been recovered from: the next one is another. */
void ina_control_next_round(struct ina_control *control);

/* The parent hears whether this rank, and all of its subtree, wait for long. */
void ina_control_tell_stall(struct ina_control *control);

/* Do the ranks of all children's subtrees wait for long? */
bool ina_control_children_stall(const struct ina_control *control);

/* Tells what is to be told by now. */
void ina_control_tell(struct ina_control *control);

/* Waits up to timeout_ms for anything, takes in all that has come, and tells what is to be told. */
void ina_control_pump(struct ina_control *control, int timeout_ms);

/* Fills fds (room for INA_NEIGHBOURS_MAX) with what to wait for; returns how many. */
int ina_control_pollfds(const struct ina_control *control, struct pollfd *fds);

#endif
