/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a job goes from the ring to the aggregator (join.h), again or for the first time, and when
 * it gives way to another job. The ranks also find out again where they are, since switches may
 * have been added or removed.
 *
 * Rank 0 asks for the rejoin by a flag in the messages of a ring all-reduce. So all ranks know of
 * it at the end of that all-reduce, and make an attempt before the next one.
 *
 * An attempt delays calls: connecting alone takes about 20 ms. So if the last attempt found no
 * switch that could sum, its connection stays, and the ranks first look for one
 * (algorithms/lookout.h). At the first flag each rank sends a TRACE, and calls continue. Before the
 * all-reduce that follows the next flag, a small all-reduce gives all ranks the results of the
 * TRACEs. Only if a switch can sum now, an attempt follows.
 */
#ifndef INA_RECOVERY_REJOIN_H
#define INA_RECOVERY_REJOIN_H

#include "join.h"

struct ina_rejoin {
	/* These are the same on all ranks. */
	bool due; /* before the next all-reduce */
	/* no switch could sum the last time, so a lookout precedes the next attempt */
	bool looks;
	bool has_sent;     /* the TRACEs of the lookout are under way */
	unsigned int vain; /* number of lookouts that no switch has answered */

	struct ina_join join; /* the opening, and then each attempt and each lookout */
	/* These are used by rank 0: when to ask for the next attempt. */
	int64_t next_ms;
	int64_t granted_ms;
	int64_t summed_ms; /* when the last aggregated all-reduce was done */
	int pause_ms;
};

/* Called when a ring all-reduce starts: on rank 0, asks for the next step if it is due. */
void ina_rejoin_ask(const struct ina_rejoin *rejoin, const struct ina_recovery_context *context);

/* Called when a ring all-reduce is done: has rank 0 asked for the next step? */
void ina_rejoin_note(struct ina_rejoin *rejoin, const struct ina_recovery_context *context);

/*
 * Called when an aggregated all-reduce is done. If another job wants a context, and this job has
 * had its context for long enough, rank 0's next message announces that this job gives up its
 * context.
 */
void ina_rejoin_heed(struct ina_rejoin *rejoin, const struct ina_recovery_context *context);

/* Called when the aggregator has granted a JOIN. */
void ina_rejoin_granted(struct ina_rejoin *rejoin);

/*
 * ina_rejoin_refused(): the aggregator has not granted a JOIN. ina_rejoin_lost(): it has failed, or
 * (yields) the job has given up its context. Both set the time of the next attempt.
 */
void ina_rejoin_refused(struct ina_rejoin *rejoin, const struct ina_recovery_context *context);
void ina_rejoin_lost(struct ina_rejoin *rejoin, const struct ina_recovery_context *context,
                     bool yields);

/*
 * Called when no JOIN was granted and all ranks know the tree. If no switch in it could sum, or a
 * TRACE is late, the lookout uses the connection from now on. Returns whether it does.
 */
bool ina_rejoin_look_out(struct ina_rejoin *rejoin, const struct ina_recovery_context *context);

/*
 * ina_rejoin_begin() begins a rejoin, on all ranks before the same call. ina_rejoin_step() makes
 * progress without waiting; it never returns INA_JOIN_LOOKED.
 */
void ina_rejoin_begin(struct ina_rejoin *rejoin, const struct ina_recovery_context *context);
enum ina_join_result ina_rejoin_step(struct ina_rejoin *rejoin,
                                     const struct ina_recovery_context *context,
                                     struct ina_failure *failure);

#endif
