/* SPDX-License-Identifier: Apache-2.0 */
/* The in-network all-reduce: the window as an algorithm, and how a flow begins and ends. */
#ifndef INA_ALGORITHMS_IN_NETWORK_H
#define INA_ALGORITHMS_IN_NETWORK_H

#include "window.h"

/* Its functions take a struct ina_innet. */
extern const struct ina_algorithm_row ina_in_network_algorithm;

/* Sets the completions that drive the algorithm. */
void ina_innet_attach(struct ina_innet *innet, const struct ina_completions *completions);

/*
 * Is the exchange of a TRACE, JOIN or LEAVE complete? For a TRACE or JOIN, one must have arrived,
 * and this rank's must be acknowledged. Otherwise a TRACE would still be under way when the
 * connection becomes a flow. An aggregator that is reset could also learn the flow again from a
 * retransmitted JOIN. It could then take retransmitted DATA for contributions although the sender's
 * memory already holds the sums.
 */
static inline bool ina_innet_is_exchanged(const struct ina_innet *innet)
{
	return ina_innet_is_summed(innet) &&
	       (ina_innet_oldest(innet)->context.type == INA_WIRE_LEAVE ||
	        innet->unacknowledged == 0);
}

/* Has the JOIN also come back as the sum of all ranks' JOINs? */
static inline bool ina_innet_is_joined(const struct ina_innet *innet)
{
	return ina_innet_is_exchanged(innet) &&
	       innet->contributors == (uint32_t)innet->connection.ranks;
}

/*
 * Has a JOIN arrived that is not the sum of all ranks' JOINs? No other JOIN will arrive after that.
 */
static inline bool ina_innet_is_refused(const struct ina_innet *innet)
{
	return ina_innet_is_summed(innet) &&
	       innet->contributors != (uint32_t)innet->connection.ranks;
}

/*
 * Adds the sums of the oldest transfer to the statistics. The transfer is done, or another
 * algorithm continues it. Returns whether any of the sums overflowed.
 */
bool ina_innet_count(const struct ina_innet *innet, struct ina_stats *stats);

/*
 * Sends a LEAVE, so that the aggregator forgets the flow. The state of the transfers does not
 * change, because the caller may still need it. ends_connection: the caller stops the queue pairs
 * next, so wait 20 ms for the LEAVE to leave the host.
 */
void ina_innet_abandon(struct ina_innet *innet, bool ends_connection);

#endif
