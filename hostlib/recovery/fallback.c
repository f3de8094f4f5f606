/* SPDX-License-Identifier: Apache-2.0 */
/* Changes from the aggregator to the ring. */
#include "fallback.h"

#include <string.h>

void ina_fallback_leave(const struct ina_recovery_context *context, bool yields)
{
	struct ina_network *network = context->network;
	struct ina_innet *innet = &network->innet;
	bool stays = yields && !ina_innet_is_busy(innet);

	if (ina_innet_is_busy(innet))
		context->stats->messages_retried += innet->posted - innet->received;
	ina_innet_salvage(innet);
	ina_innet_abandon(innet, !stays);
	if (stays)
		return;
	ina_network_end_aggregated(network);
}

/* The bytes after `count` sums in the spare: one for each sum, which says whether it overflowed. */
static uint8_t *notes_of(const struct ina_network *network, uint64_t count)
{
	return network->spare + count * network->innet.connection.limit_bytes;
}

/*
 * The owner's sums travel round the ring as 32-bit words to which the other ranks add zeros. So
 * they keep every bit, whatever their type.
 */
enum ina_status ina_fallback_begin(const struct ina_recovery_context *context,
                                   const struct ina_plan *plan, bool *done,
                                   struct ina_failure *failure)
{
	struct ina_network *network = context->network;
	const struct ina_connection_context *connection = &network->innet.connection;
	uint64_t own = network->innet.received;
	uint64_t count = plan->until - plan->from;
	struct ina_transfer transfer = {
	        .send = network->spare,
	        .recv = network->spare,
	        .total_bytes = count * connection->limit_bytes + (count + 3) / 4 * 4,
	        .element_bytes = sizeof(uint32_t),
	        .type = INA_INT32,
	        .op = INA_SUM,
	        .number_type = INA_WIRE_INT32,
	        .send_lkey = connection->lkey,
	        .recv_lkey = connection->lkey,
	};

	*done = count == 0;
	if (plan->from > own || plan->until < own || count > connection->window)
		return ina_fail(
		        failure, INA_ERR_MISMATCH,
		        "rank 0 sent an invalid plan for continuing without the aggregator");
	if (*done)
		return INA_OK;
	memset(network->spare, 0, transfer.total_bytes);
	if (plan->owner == (uint32_t)connection->rank) {
		for (uint64_t i = 0; i < count; i++)
			notes_of(network, count)[i] =
			        ina_innet_copy_sum(&network->innet, plan->from + i,
			                           network->spare + i * connection->limit_bytes);
	}
	ina_ring_start(&network->hosts.ring, &transfer);
	return ina_ring_advance(&network->hosts.ring, failure);
}

enum ina_status ina_fallback_advance(const struct ina_recovery_context *context,
                                     const struct ina_plan *plan, bool *done,
                                     struct ina_failure *failure)
{
	struct ina_network *network = context->network;
	uint32_t limit_bytes = network->innet.connection.limit_bytes;
	uint64_t count = plan->until - plan->from;
	enum ina_status status = ina_ring_advance(&network->hosts.ring, failure);

	*done = status == INA_OK && ina_ring_done(&network->hosts.ring);
	if (!*done)
		return status;
	context->stats->messages_ring += network->hosts.ring.in_count;
	for (uint64_t i = network->innet.received - plan->from; i < count; i++)
		ina_innet_supply(&network->innet, network->spare + i * limit_bytes,
		                 notes_of(network, count)[i] != 0);
	return INA_OK;
}
