/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TRACEs look out for aggregators: on the aggregated connection in the order of ranks, which is no
 * flow. They have separate memory and work requests, so while the ring is in use no call waits
 * for one, and one that comes late or fails is no fault.
 *
 * Each rank has a receive for its predecessor's TRACE before any rank sends one. No aggregator
 * holds a TRACE back for its receiver, as it does with a JOIN, and one that comes too early
 * is only sent again after the RNR timer, which rdma_rxe counts in jiffies. While the ring is in
 * use, a rank sends after an all-reduce that all ranks entered with their receives posted.
 */
#ifndef INA_ALGORITHMS_LOOKOUT_H
#define INA_ALGORITHMS_LOOKOUT_H

#include "hostlib/rdma/post.h"

/* Registered. All TRACEs on a connection are sent with the same bytes. */
struct ina_lookout_memory {
	struct ina_slot sent_slot;
	struct ina_slot come_slot;
	struct ina_wire_trace_slot sent[INA_WIRE_LEVELS];
	struct ina_wire_trace_slot come[INA_WIRE_LEVELS];
};

struct ina_lookout {
	const struct ina_connection_context *connection; /* the aggregated one */
	struct ina_lookout_memory *memory;
	bool has_come;      /* the predecessor's TRACE, as memory->come has it */
	unsigned int sends; /* of this rank's that are not acknowledged */
	bool has_failed;
};

void ina_lookout_attach(struct ina_lookout *lookout,
                        const struct ina_connection_context *connection,
                        struct ina_lookout_memory *memory);

/* The connection is a fresh one, or is at its end: then nothing can come. */
void ina_lookout_renew(struct ina_lookout *lookout);
void ina_lookout_end(struct ina_lookout *lookout);

/* Another TRACE is to come; this rank's own goes. */
void ina_lookout_expect(struct ina_lookout *lookout);
void ina_lookout_send(struct ina_lookout *lookout);

/* One of its work requests has completed. */
void ina_lookout_take(struct ina_lookout *lookout, const struct ibv_wc *wc);

/* Is nothing more to be waited for? A JOIN may follow when the TRACE is acknowledged. */
static inline bool ina_lookout_is_over(const struct ina_lookout *lookout)
{
	return lookout->has_failed || (lookout->has_come && lookout->sends == 0);
}

#endif
