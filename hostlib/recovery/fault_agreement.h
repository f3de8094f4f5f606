/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All ranks agree on a fault: rank 0 gathers what every rank saw, and gives all the same answer.
 * Either the aggregator alone is to blame, and a plan says how the ring takes over; or the
 * communicator has come to its end, and the diagnosis says why.
 */
#ifndef INA_RECOVERY_FAULT_AGREEMENT_H
#define INA_RECOVERY_FAULT_AGREEMENT_H

#include "hostlib/control/control.h"

struct ina_fault_agreement {
	struct ina_fault fault; /* this rank's part; status INA_OK: it saw nothing itself */
	bool may_recover;       /* there is an aggregator to do without: the same on all ranks */
	bool yields;            /* it is no fault, the job gives its context to another one */
	int64_t ask_ms;         /* when the others are asked for their parts; 0: at once */
	int64_t deadline_ms;    /* for ranks that are late */
	int64_t fatal_ms;       /* the deadline once the ring cannot take over; 0: not yet */
	int64_t alone_ms;       /* and once a rank is known to be gone; 0: none is. Not rank 0's */
};

enum ina_fault_outcome {
	INA_FAULT_PENDING,
	INA_FAULT_RECOVERABLE, /* the plan holds, on all ranks */
	INA_FAULT_FATAL,       /* the failure holds, on all ranks that are there to hear of it */
};

/*
 * fault, may_recover, yields, ask_ms and deadline_ms are filled in. Reports this rank's part, and
 * asks all for theirs, now or later.
 */
void ina_fault_agreement_begin(struct ina_fault_agreement *agreement, struct ina_control *control);

/* How long to wait at most, of timeout_ms, until the next poll. */
int ina_fault_agreement_tick(const struct ina_fault_agreement *agreement, int timeout_ms);

/*
 * Does not wait, nor look at what has newly come: ina_control_pump() does. Ends by deadline_ms and
 * some seconds, where something fatal is known after some seconds.
 */
enum ina_fault_outcome ina_fault_agreement_poll(struct ina_fault_agreement *agreement,
                                                struct ina_control *control, struct ina_plan *plan,
                                                struct ina_failure *failure);

#endif
