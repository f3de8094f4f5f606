/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lookout: TRACEs that look for aggregators. They use the aggregated connection in the order of
 * ranks, while it is not a flow. They have separate memory and work requests. So no call waits for
 * one while the ring is in use, and one that is late or fails is no fault.
 *
 * Each rank posts the receive for its predecessor's TRACE before any rank sends one. An aggregator
 * does not delay a TRACE for its receiver, as it does with a JOIN. A TRACE that arrives too early
 * is retransmitted only after the RNR timer, which rdma_rxe counts in jiffies. While the ring is in
 * use, a rank sends its TRACE after an all-reduce that all ranks entered with their receives
 * posted.
 */
#ifndef INA_ALGORITHMS_LOOKOUT_H
#define INA_ALGORITHMS_LOOKOUT_H

#include "hostlib/rdma/post.h"

/* Registered memory. All TRACEs of a connection are sent from the same bytes. */
struct ina_lookout_memory {
	struct ina_slot sent_slot;
	struct ina_slot come_slot;
	struct ina_wire_trace_slot sent[INA_WIRE_LEVELS];
	struct ina_wire_trace_slot come[INA_WIRE_LEVELS];
};

struct ina_lookout {
	const struct ina_connection_context *connection; /* the aggregated one */
	struct ina_lookout_memory *memory;
	bool has_come;      /* the predecessor's TRACE has arrived; it is in memory->come */
	unsigned int sends; /* TRACEs of this rank that are not acknowledged */
	bool has_failed;
};

void ina_lookout_attach(struct ina_lookout *lookout,
                        const struct ina_connection_context *connection,
                        struct ina_lookout_memory *memory);

/*
 * ina_lookout_renew() prepares the lookout for a fresh connection. ina_lookout_end() is called at
 * the end of a connection, after which no TRACE can arrive.
 */
void ina_lookout_renew(struct ina_lookout *lookout);
void ina_lookout_end(struct ina_lookout *lookout);

/*
 * ina_lookout_expect() posts the receive for another TRACE; ina_lookout_send() sends this rank's.
 */
void ina_lookout_expect(struct ina_lookout *lookout);
void ina_lookout_send(struct ina_lookout *lookout);

/* Handles a completion of one of the lookout's work requests. */
void ina_lookout_take(struct ina_lookout *lookout, const struct ibv_wc *wc);

/* Has the lookout ended? A JOIN may follow only when this rank's TRACE is acknowledged. */
static inline bool ina_lookout_is_over(const struct ina_lookout *lookout)
{
	return lookout->has_failed || (lookout->has_come && lookout->sends == 0);
}

#endif
