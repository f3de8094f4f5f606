/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control channel: TCP connections to a few other ranks (neighbours.h), open as long as the
 * communicator. Through them a rank notices that a neighbour has died, and informs the others.
 *
 * Votes and fault reports travel up the tree: a rank sends them to its parent when all ranks of its
 * subtree have spoken. If some have not, or if the parent is outside the library, the rank sends
 * them to all its neighbours at growing intervals. So they reach rank 0 as long as ranks that are
 * in a call connect the two. Each rank passes rank 0's answer on to all its neighbours.
 *
 * A frame that arrives is stored in struct ina_control, and read when it is needed. This header has
 * that struct; exchange.h sends and reads frames, and telling.h decides when.
 */
#ifndef INA_CONTROL_CONTROL_H
#define INA_CONTROL_CONTROL_H

#include "hostlib/options/error.h"
#include "tcp_link.h"
#include "neighbours.h"

struct ina_peer {
	int rank;
	struct ina_link link;   /* fd -1: the two have no connection */
	struct ina_stall stall; /* the last report of a child */
};

/* Which votes or fault reports this rank still has to send. */
struct ina_telling {
	bool is_new; /* there is news since the neighbours were last informed */
	bool is_urgent;
	bool parent_knows; /* the parent has the news of the whole subtree */
	int pause_ms;
	/* when the neighbours may be informed again; pause_ms is the pause after that */
	int64_t next_ms;
};

/*
 * An agreement fails as soon as some rank fails, without the votes of the others. These may not yet
 * have read the previous decision, and need both. Four decisions are more than enough.
 */
#define INA_DECISIONS 4

struct ina_control {
	int rank;
	int ranks;
	int count;
	struct ina_peer neighbours[INA_NEIGHBOURS_MAX]; /* in ascending order of ranks */
	/* connections to this rank that did not come from a rank of the job */
	uint64_t unknown_peers;
	/* set whenever a frame arrives or a rank is lost; the reader clears it */
	bool news;
	const atomic_bool *stop; /* as in struct ina_settings; NULL when the communicator is open */
	int64_t listened_ms;     /* when the neighbours were last checked for silence */

	struct ina_ranks gone; /* ranks that ended without a farewell */
	struct ina_ranks left; /* neighbours that ended with a farewell */
	bool news_to_tell;
	/* The first error with which a rank said farewell; INA_OK: none yet. */
	struct ina_failure heard;

	uint32_t phase; /* number of agreements that this rank has begun */
	struct ina_votes votes;
	struct ina_telling votes_told;
	/* the latest decisions, by phase; phase 0: empty */
	struct ina_decision decisions[INA_DECISIONS];

	uint32_t round; /* number of faults that were recovered from */
	bool asked;     /* there is a new fault, and all ranks must report */
	struct ina_faults faults;
	struct ina_telling faults_told;
	bool has_plan;
	struct ina_plan plan;
	bool has_diagnosis;
	struct ina_decision diagnosis;

	struct ina_call stall; /* kind NONE: this rank does not wait, or not for long */
	struct ina_stall stall_told;
};

/*
 * Initialises the struct. Allocates nothing, so that a rank without memory can still report this.
 */
void ina_control_init(struct ina_control *control, int rank, int ranks);
void ina_control_close(struct ina_control *control);

/* What this rank has of a neighbour; NULL if that rank is not a neighbour. */
struct ina_peer *ina_control_peer(struct ina_control *control, int rank);

/* The connection to a neighbour; NULL if that rank is not a neighbour. */
struct ina_link *ina_control_link(struct ina_control *control, int rank);

/* A frame from this rank of this type, all other fields zero. */
struct ina_control_frame ina_control_frame(const struct ina_control *control,
                                           enum ina_control_type type);

/* Has the rank ended, with a farewell or without? */
static inline bool ina_control_is_absent(const struct ina_control *control, int rank)
{
	return ina_ranks_have(&control->gone, rank) || ina_ranks_have(&control->left, rank);
}

/* Is the neighbour connected and not absent? */
bool ina_control_reaches(const struct ina_control *control, const struct ina_peer *neighbour);

/*
 * Has a rank ended without a farewell, or said farewell with an error? If so, the failure names the
 * ranks that were lost; if none was, it is the error of the farewell. A rank that left without an
 * error has closed its communicator, as all ranks agreed to.
 */
bool ina_control_lost(const struct ina_control *control, struct ina_failure *failure);

/* Sets INA_ERR_PEER, with a text such as "rank 2 disconnected". */
enum ina_status ina_fail_gone(struct ina_failure *failure, const struct ina_ranks *gone, int ranks);

/* This rank has ended without a farewell; the other ranks must learn that. */
void ina_control_note_gone(struct ina_control *control, int rank);

/* Merges votes of this agreement into the known ones. Votes of a later agreement replace them. */
void ina_control_take_votes(struct ina_control *control, const struct ina_votes *votes);

/* The same for the fault reports of a round. */
void ina_control_take_faults(struct ina_control *control, const struct ina_faults *faults);

/* A neighbour's farewell. If rank 0 says farewell with an error, that is the diagnosis. */
void ina_control_take_farewell(struct ina_control *control, int from,
                               const struct ina_decision *word);

/* The ranks that another rank knows to be lost, and the first error that it has heard. */
void ina_control_take_news(struct ina_control *control, const struct ina_news *news);

/*
 * ina_control_take_order() takes a frame that only rank 0 originates, ina_control_take_query() a
 * QUERY. They return whether it is new, so that it must be passed on.
 */
bool ina_control_take_order(struct ina_control *control, const struct ina_control_frame *frame);
bool ina_control_take_query(struct ina_control *control, const struct ina_control_frame *frame);

/* Rank 0's decision on the agreement of this phase; NULL if it has not arrived. */
const struct ina_decision *ina_control_decision(const struct ina_control *control, uint32_t phase);

/* The fault has been recovered from: later reports belong to the next round. */
void ina_control_next_round(struct ina_control *control);

/* Have all ranks of all children's subtrees waited for long? */
bool ina_control_children_stall(const struct ina_control *control);

#endif
