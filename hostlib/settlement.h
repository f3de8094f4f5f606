/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settlement of a fault: rank 0 gathers what every rank saw, and gives all the same answer.
 * Either the aggregator alone is to blame, and a plan says how the ring takes over; or the
 * communicator has come to its end, and a verdict says why.
 */
#ifndef INA_SETTLEMENT_H
#define INA_SETTLEMENT_H

#include "control.h"

struct ina_settlement {
	struct ina_fault fault; /* this rank's part; status INA_OK: it saw nothing itself */
	bool may_mend;          /* there is an aggregator to do without: the same on all ranks */
	int64_t deadline_ms;    /* for ranks that are late */
	int64_t fatal_ms;       /* the deadline once no ring can mend what is known; 0: not yet */
	int64_t alone_ms;       /* and once a rank is known to be gone; 0: none is. Not rank 0's */
	/* Rank 0's. */
	struct ina_fault faults[INA_MAX_RANKS];
	unsigned char has_fault[INA_MAX_RANKS];
	unsigned char gone[INA_MAX_RANKS];
};

enum ina_settled {
	INA_UNSETTLED,
	INA_MENDED, /* the plan holds, on all ranks */
	INA_ENDED,  /* the failure holds, on all ranks that are there to hear of it */
};

/* fault, may_mend and deadline_ms are filled in. Tells rank 0, or asks all for their part. */
void ina_settlement_begin(struct ina_settlement *settlement, struct ina_control *control);

/* How long to wait at most, of timeout_ms, until the next poll. */
int ina_settlement_tick(const struct ina_settlement *settlement, int timeout_ms);

/*
 * Does not wait, nor look at what has newly come: ina_control_pump() does. Ends by deadline_ms and
 * some seconds, where something fatal is known after some seconds.
 */
enum ina_settled ina_settlement_poll(struct ina_settlement *settlement, struct ina_control *control,
                                     struct ina_plan *plan, struct ina_failure *failure);

#endif
