/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery from faults: all ranks first agree on the fault (fault_agreement.h). If only the
 * aggregator has failed, the ring takes over (fallback.h), and later the aggregator again
 * (rejoin.h). Any other fault ends the communicator.
 */
#ifndef INA_RECOVERY_RECOVERY_H
#define INA_RECOVERY_RECOVERY_H

#include "fault_agreement.h"
#include "rejoin.h"

enum ina_phase {
	INA_STEADY,    /* no recovery is under way */
	INA_AGREEING,  /* all ranks agree on a fault */
	INA_REPAIRING, /* the ring carries sums that only some ranks have to the others */
	INA_REJOINING, /* the ranks make fresh connections and wait for their JOINs */
};

struct ina_recovery {
	struct ina_recovery_context context;
	enum ina_phase phase;
	/* the next step does not wait, because events before the phase cause no wakeup */
	bool is_new;
	struct ina_fault_agreement agreement;
	struct ina_plan plan;
	struct ina_rejoin rejoin;
};

enum ina_recovery_result {
	INA_RECOVERY_UNDER_WAY,
	INA_RECOVERY_RING,     /* the ring takes over; all ranks have all sums that any rank has */
	INA_RECOVERY_REJOINED, /* the aggregator has granted a JOIN; the waiting call begins */
	/* the aggregator has not granted a JOIN; the waiting call begins over the ring */
	INA_RECOVERY_REFUSED,
	INA_RECOVERY_FATAL, /* the communicator ends with the failure, at all ranks */
};

/*
 * How long ranks may wait for a sum until the aggregator counts as dead, in milliseconds. A lost
 * last packet is retransmitted after an ACK timeout, and may be lost again, so this takes eight ACK
 * timeouts, or the timeout of a JOIN if that is longer. The result is three times that, because a
 * busy machine must not count as a dead aggregator.
 */
int64_t ina_recovery_patience_ms(const struct ina_options *options);

/*
 * Begins the recovery from a fault, unless the ranks are agreeing on one already. failure: this
 * rank's error, seen at message `message` of the all-reduce under way; NULL: another rank's.
 * by_aggregator: the aggregator is in use, and the ring may take over. In that case, this ends the
 * aggregated connections.
 */
void ina_recovery_begin(struct ina_recovery *recovery, const struct ina_failure *failure,
                        uint32_t message, bool by_aggregator);

/* Begins to JOIN the aggregator again, before the present call's all-reduce. */
void ina_recovery_rejoin(struct ina_recovery *recovery);

/*
 * Takes a step of a phase other than INA_STEADY. Waits up to timeout_ms. *moved: whether there were
 * completions.
 */
enum ina_recovery_result ina_recovery_step(struct ina_recovery *recovery, int timeout_ms,
                                           bool *moved, struct ina_failure *failure);

#endif
