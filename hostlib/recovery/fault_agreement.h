/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All ranks agree on a fault: rank 0 gathers every rank's report, and gives all ranks the same
 * answer. If only the aggregator has failed, the answer is a plan by which the ring takes over.
 * Otherwise the communicator ends, and the answer is the diagnosis.
 */
#ifndef INA_RECOVERY_FAULT_AGREEMENT_H
#define INA_RECOVERY_FAULT_AGREEMENT_H

#include "hostlib/control/control.h"

struct ina_fault_agreement {
	/* this rank's report; status INA_OK: it has not seen the fault itself */
	struct ina_fault fault;
	/* the aggregator is in use, and the ring may take over; the same on all ranks */
	bool may_recover;
	bool yields;         /* there is no fault: the job gives up its context to another job */
	int64_t ask_ms;      /* when to ask the other ranks for their reports; 0: immediately */
	int64_t deadline_ms; /* when to stop waiting for late ranks */
	/* the deadline after it is known that the ring cannot take over; 0: not known */
	int64_t fatal_ms;
	/* the deadline after it is known that a rank has ended; 0: not known. Not used by rank 0 */
	int64_t alone_ms;
};

enum ina_fault_outcome {
	INA_FAULT_PENDING,
	INA_FAULT_RECOVERABLE, /* all ranks have the plan */
	INA_FAULT_FATAL,       /* all ranks that are still connected have the failure */
};

/*
 * Reports this rank's fault, and asks all ranks for their reports, now or later. The caller has set
 * fault, may_recover, yields, ask_ms and deadline_ms.
 */
void ina_fault_agreement_begin(struct ina_fault_agreement *agreement, struct ina_control *control);

/* How long to wait until the next poll: timeout_ms, or less. */
int ina_fault_agreement_tick(const struct ina_fault_agreement *agreement, int timeout_ms);

/*
 * Looks for the result. Does not wait, and does not read frames: ina_control_pump() does. Ends some
 * seconds after deadline_ms at the latest, and within some seconds if the fault is fatal.
 */
enum ina_fault_outcome ina_fault_agreement_poll(struct ina_fault_agreement *agreement,
                                                struct ina_control *control, struct ina_plan *plan,
                                                struct ina_failure *failure);

#endif
