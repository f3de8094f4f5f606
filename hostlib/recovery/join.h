/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way to the aggregator, when a communicator opens and when it returns from the ring. The ranks
 * connect, find out through TRACEs where they are among the switches, connect in an order in which
 * these can sum for all, and send their JOINs. No step waits.
 *
 * The JOIN needs fresh connections, since an aggregator learns a flow only from a JOIN, and a
 * connection sends one JOIN. It needs a fresh job id, since the aggregator may still know the old
 * job as broken. When a communicator opens, its first connections have both.
 */
#ifndef INA_RECOVERY_JOIN_H
#define INA_RECOVERY_JOIN_H

#include "context.h"

enum ina_join_goal {
	/*
	 * The communicator opens: an error of one rank ends it at all ranks. The ranks also choose
	 * one of several trees (algorithms/spread.h).
	 */
	INA_JOIN_OPEN,
	/* The ring is in use, and stays in use if anything fails. */
	INA_JOIN_AGAIN,
	INA_JOIN_LOOK, /* as before, but the ranks only share TRACEs that have been sent */
};

enum ina_join_stage {
	INA_JOIN_FIRST,   /* at open: agreement that all ranks have made the first connections */
	INA_JOIN_GATHER,  /* agreement that all ranks have entered, without old connections */
	INA_JOIN_CONNECT, /* fresh connections, in the order of ranks and then perhaps another */
	INA_JOIN_COUNT,   /* agreement that all ranks are connected */
	INA_JOIN_TRACE,   /* the TRACE is under way */
	INA_JOIN_SHARE,   /* all ranks get the contents of all TRACEs */
	/*
	 * At open, unless INA_JOIN_COUNT has shown it: agreement that all ranks know the positions.
	 * Otherwise a vote on the JOIN could end another rank's wait for them.
	 */
	INA_JOIN_PLACED,
	INA_JOIN_WAIT,  /* the JOIN is under way */
	INA_JOIN_CHECK, /* agreement that all ranks' JOINs have come back as sums */
	INA_JOIN_LEAVE, /* at open: the LEAVE is under way, because the job moves to another tree */
	INA_JOIN_LEFT,  /* agreement that all ranks have left */
};

/* The end of this rank's JOIN. */
enum ina_join_end {
	INA_JOIN_NONE, /* the rank sent no JOIN */
	INA_JOIN_FAILED,
	INA_JOIN_STOPPED, /* another rank's JOIN was refused */
	INA_JOIN_JOINED,
};

struct ina_join {
	const struct ina_recovery_context *context;
	enum ina_join_goal goal;
	enum ina_join_stage stage;
	bool votes;                /* the stage is an agreement */
	uint32_t vote;             /* of this rank in the agreement under way */
	struct ina_failure failed; /* not INA_OK: it votes with this error instead */
	int64_t deadline_ms;       /* of the stage */
	int64_t end_ms;            /* of waits for other ranks */
	/* These are the same on all ranks. */
	bool placed;     /* the positions of the ranks are known */
	bool keeps_tree; /* the job does not look for a tree with fewer jobs */

	enum ina_join_end end;
};

enum ina_join_result {
	INA_JOIN_UNDER_WAY,
	INA_JOIN_GRANTED,   /* every rank's JOIN has come back as a sum */
	INA_JOIN_REFUSED,   /* not aggregated; the ring can be used */
	INA_JOIN_LOOKED,    /* with INA_JOIN_LOOK: network->tree is known */
	INA_JOIN_DISTURBED, /* there is a fault to recover from first; not at open */
	/* With the failure. At open, all ranks get it. */
	INA_JOIN_ENDED,
};

/*
 * Begins with INA_JOIN_OPEN, when the first connections have been made. failed: an error of this
 * rank until now, or status INA_OK. end_ms: the deadline of the connections; each later part has
 * the time of a JOIN more. The context must outlive the struct.
 */
void ina_join_open(struct ina_join *join, const struct ina_recovery_context *context,
                   const struct ina_failure *failed, int64_t end_ms);

/* Begin with the other goals, on all ranks before the same call, whose deadline holds. */
void ina_join_again(struct ina_join *join, const struct ina_recovery_context *context);
void ina_join_look(struct ina_join *join, const struct ina_recovery_context *context);

/*
 * Makes progress without waiting. Before each call the caller takes completions, except while
 * join->votes is set at open.
 */
enum ina_join_result ina_join_step(struct ina_join *join, struct ina_failure *failure);

/* At open: the completions have reported this error, so the stage ends. */
void ina_join_lose(struct ina_join *join, const struct ina_failure *own);

#endif
