/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the ring to the aggregator, again or for the first time: fresh connections, since a flow is
 * learned from a JOIN alone and a connection has one, and a fresh job id, since the old job may
 * still be known as broken. The ranks find out anew where they are, since a switch may be there now
 * that was not, or the other way round.
 *
 * Rank 0 asks for it by a flag in the messages of a ring all-reduce. So all ranks know at its end,
 * and try before the next one.
 *
 * An attempt holds calls up: connecting alone takes some 20 ms. So where the last one has found no
 * switch that could sum, its connection stays, and the ranks first look out (algorithms/lookout.h):
 * at the first flag each sends a TRACE, and calls continue; before the all-reduce that follows the
 * next flag all hear what these have met, which takes a small all-reduce. Only if there is a switch
 * now an attempt follows.
 */
#ifndef INA_RECOVERY_REJOIN_H
#define INA_RECOVERY_REJOIN_H

#include "context.h"

enum ina_rejoin_stage {
	INA_REJOIN_LOOK,    /* what the lookout has found is to be shared */
	INA_REJOIN_GATHER,  /* all ranks are there */
	INA_REJOIN_CONNECT, /* fresh connections: in the order of ranks, then perhaps in another */
	INA_REJOIN_COUNT,   /* all ranks are connected */
	INA_REJOIN_TRACE,   /* the TRACE is under way */
	INA_REJOIN_SHARE,   /* all ranks are told what all TRACEs have met */
	INA_REJOIN_JOIN,    /* the JOIN is under way */
	INA_REJOIN_CHECK,   /* all ranks' JOINs have come back as sums */
};

struct ina_rejoin {
	/* The same on all ranks: */
	bool due;          /* before the next all-reduce */
	bool looks;        /* no switch was known that could sum: lookout before the next attempt */
	bool has_sent;     /* its TRACEs are under way */
	unsigned int vain; /* lookouts until now that no switch has answered */

	bool placed; /* this attempt has found out where the ranks are */
	enum ina_rejoin_stage stage;
	uint32_t vote;       /* this rank's, in the agreement under way; 0: it is not there */
	int64_t deadline_ms; /* of the stage */
	/* Rank 0's: when to ask for the next attempt. */
	int64_t next_ms;
	int64_t granted_ms;
	int64_t summed_ms; /* the last all-reduce by the aggregator was done */
	int pause_ms;
};

enum ina_rejoin_result {
	INA_REJOIN_UNDER_WAY,
	INA_REJOIN_GRANTED,
	INA_REJOIN_REFUSED,   /* the ring goes on */
	INA_REJOIN_DISTURBED, /* there is a fault to recover from first */
	INA_REJOIN_FAILED,    /* of the failure */
};

/* A ring all-reduce starts: rank 0 asks for the next step in it, if it is time. */
void ina_rejoin_ask(const struct ina_rejoin *rejoin, const struct ina_recovery_context *context);

/* A ring all-reduce is done: has rank 0 asked? */
void ina_rejoin_note(struct ina_rejoin *rejoin, const struct ina_recovery_context *context);

/*
 * An all-reduce by the aggregator is done: where another job wants a context, and it is time, rank
 * 0 tells all in the next message that this job gives its own away.
 */
void ina_rejoin_heed(struct ina_rejoin *rejoin, const struct ina_recovery_context *context);

/* The aggregator has granted a JOIN. */
void ina_rejoin_granted(struct ina_rejoin *rejoin);

/* It has not, or has dropped out, or the job has given its context away: when to try next. */
void ina_rejoin_refused(struct ina_rejoin *rejoin, const struct ina_recovery_context *context);
void ina_rejoin_lost(struct ina_rejoin *rejoin, const struct ina_recovery_context *context,
                     bool yields);

/*
 * It has not, and all ranks know the tree: if no switch in it could sum, or a TRACE is late, the
 * lookout has the connection from now on. Returns whether it has.
 */
bool ina_rejoin_look_out(struct ina_rejoin *rejoin, const struct ina_recovery_context *context);

/* Begins to JOIN again, on all ranks before the same call; and a step of that, without waiting. */
void ina_rejoin_begin(struct ina_rejoin *rejoin, const struct ina_recovery_context *context);
enum ina_rejoin_result ina_rejoin_step(struct ina_rejoin *rejoin,
                                       const struct ina_recovery_context *context,
                                       struct ina_failure *failure);

#endif
