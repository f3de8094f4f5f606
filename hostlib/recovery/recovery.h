/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery from faults: all ranks agree on what each has seen (fault_agreement.h). Where only the
 * aggregator is to blame the ring takes over (fallback.h), and later the aggregator again
 * (rejoin.h). Any other fault is the end of the communicator.
 */
#ifndef INA_RECOVERY_RECOVERY_H
#define INA_RECOVERY_RECOVERY_H

#include "fault_agreement.h"
#include "rejoin.h"

enum ina_phase {
	INA_STEADY,    /* no recovery: all-reduces go on */
	INA_AGREEING,  /* all ranks agree on a fault */
	INA_REPAIRING, /* sums that only some ranks have go to the others, by ring */
	INA_REJOINING, /* a fresh connection is made, and its JOIN awaited */
};

struct ina_recovery {
	struct ina_recovery_context context;
	enum ina_phase phase;
	bool is_new; /* the next step looks first: what came before the phase wakes nobody */
	struct ina_fault_agreement agreement;
	struct ina_plan plan;
	struct ina_rejoin rejoin;
};

enum ina_recovery_result {
	INA_RECOVERY_UNDER_WAY,
	INA_RECOVERY_RING,     /* the ring takes over: all ranks have all sums that any rank has */
	INA_RECOVERY_REJOINED, /* the aggregator has granted a JOIN; the call that waited begins */
	INA_RECOVERY_REFUSED,  /* it has not; likewise, by ring */
	INA_RECOVERY_FATAL,    /* the communicator ends with the failure, at all ranks */
};

/*
 * How long ranks may wait for a sum, in ms, until the aggregator is taken for dead. A lost tail is
 * sent again after an ACK timeout, and may be lost again: eight ACK timeouts must do. Three times
 * that, for a machine that is busy with other things is no dead aggregator.
 */
int64_t ina_recovery_patience_ms(const struct ina_options *options);

/*
 * A fault, unless one is being agreed on: this rank's (failure), seen at message `message` of the
 * all-reduce that is under way, or (NULL) another rank's. by_aggregator: the aggregator is in use,
 * and the ring may take over. Then the aggregated connections end here.
 */
void ina_recovery_begin(struct ina_recovery *recovery, const struct ina_failure *failure,
                        uint32_t message, bool by_aggregator);

/* Begins to JOIN the aggregator again, before the all-reduce whose turn it is. */
void ina_recovery_rejoin(struct ina_recovery *recovery);

/*
 * In a phase that is not INA_STEADY: a step, which waits up to timeout_ms. *moved: whether
 * completions came.
 */
enum ina_recovery_result ina_recovery_step(struct ina_recovery *recovery, int timeout_ms,
                                           bool *moved, struct ina_failure *failure);

#endif
