/* SPDX-License-Identifier: Apache-2.0 */
/* The in-network all-reduce: the window as an algorithm, and how a flow begins and ends. */
#ifndef INA_ALGORITHMS_IN_NETWORK_H
#define INA_ALGORITHMS_IN_NETWORK_H

#include "window.h"

/* Its functions take a struct ina_innet. */
extern const struct ina_algorithm_row ina_in_network_algorithm;

/* Whose completions it goes on by. */
void ina_innet_attach(struct ina_innet *innet, const struct ina_completions *completions);

/*
 * Is the TRACE, JOIN or LEAVE that is under way over? A TRACE or a JOIN is when one has come and
 * one's own is acknowledged. Else a TRACE would still be under way when the connection becomes a
 * flow; and an aggregator that is reset could learn the flow again from a JOIN that is sent once
 * more, and take DATA that are sent once more, from memory that holds the sums, for contributions.
 */
static inline bool ina_innet_is_exchanged(const struct ina_innet *innet)
{
	return ina_innet_is_summed(innet) &&
	       (ina_innet_oldest(innet)->context.type == INA_WIRE_LEAVE ||
	        innet->unacknowledged == 0);
}

/* And has it come back as a sum of all ranks? */
static inline bool ina_innet_is_joined(const struct ina_innet *innet)
{
	return ina_innet_is_exchanged(innet) &&
	       innet->contributors == (uint32_t)innet->connection.ranks;
}

/* Has a JOIN come that is not the sum of all ranks'? No other will. */
static inline bool ina_innet_is_refused(const struct ina_innet *innet)
{
	return ina_innet_is_summed(innet) &&
	       innet->contributors != (uint32_t)innet->connection.ranks;
}

/*
 * Adds what has been summed of the oldest transfer, which is done or goes on by another algorithm,
 * to the statistics. Returns whether any of it overflowed.
 */
bool ina_innet_count(const struct ina_innet *innet, struct ina_stats *stats);

/*
 * Sends a LEAVE, so that an aggregator forgets the flow. The transfers stay as they were, for what
 * is to be known of them. ends_connection: the queue pairs are stopped next, so the LEAVE gets 20
 * ms to leave the host.
 */
void ina_innet_abandon(struct ina_innet *innet, bool ends_connection);

#endif
