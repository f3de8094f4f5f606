/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions for all strands of a communicator. A strand may itself have strands: a rail has
 * channels.
 */
#include "strands.h"

bool ina_strands_run(const struct ina_strands *strands, bool looked_at)
{
	bool moved = false;

	for (int i = 0; i < strands->count; i++) {
		struct ina_comm *strand = strands->comms[i];

		if (ina_comm_is_busy(strand))
			moved |= looked_at ? ina_comm_step(strand, 0) : ina_comm_work(strand);
	}
	return moved;
}

void ina_strands_attend(const struct ina_strands *strands)
{
	for (int i = 0; i < strands->count; i++) {
		ina_comm_attend(strands->comms[i]);
		ina_strands_attend(&strands->comms[i]->strands);
	}
}

bool ina_strands_have_failed(const struct ina_strands *strands, struct ina_failure *failure)
{
	for (int i = 0; i < strands->count; i++) {
		if (strands->comms[i]->failure.status != INA_OK) {
			*failure = strands->comms[i]->failure;
			return true;
		}
	}
	return false;
}

int ina_strands_pollfds(const struct ina_strands *strands, struct pollfd *fds)
{
	int count = 0;

	for (int i = 0; i < strands->count; i++)
		count += ina_comm_pollfds(strands->comms[i], fds + count);
	return count;
}

void ina_strands_arm(const struct ina_strands *strands)
{
	for (int i = 0; i < strands->count; i++) {
		struct ina_comm *strand = strands->comms[i];

		if (ina_comm_is_busy(strand))
			strand->algorithm->arm(strand->algorithm_state);
	}
}

bool ina_strands_is_work(const struct ina_strands *strands, const struct pollfd *fd)
{
	for (int i = 0; i < strands->count; i++) {
		const struct ina_comm *strand = strands->comms[i];
		const struct ibv_comp_channel *channel = strand->network.transport.channel;

		if (channel && fd->fd == channel->fd)
			return ina_transport_is_completion(fd);
		if (ina_strands_is_work(&strand->strands, fd))
			return true;
	}
	return false;
}

void ina_strands_abort(const struct ina_strands *strands, const struct ina_failure *failure)
{
	for (int i = 0; i < strands->count; i++) {
		struct ina_comm *strand = strands->comms[i];

		if (strand->failure.status == INA_OK) {
			strand->failure = *failure;
			ina_comm_abort(strand);
		}
	}
}

enum ina_status ina_strands_register(struct ina_comm *comm, void *memory, size_t bytes,
                                     struct ina_failure *failure)
{
	enum ina_status status = INA_OK;

	if (comm->algorithm->registers)
		return ina_memory_register(&comm->network.memory, memory, bytes, failure);
	for (int i = 0; comm->channels && i < comm->strands.count && status == INA_OK; i++)
		status = ina_strands_register(comm->strands.comms[i], memory, bytes, failure);
	return status;
}

enum ina_status ina_strands_forget(struct ina_comm *comm, const void *memory, size_t bytes,
                                   struct ina_failure *failure)
{
	enum ina_status status = ina_memory_forget(&comm->network.memory, memory, bytes, failure);

	for (int i = 0; comm->channels && i < comm->strands.count && status == INA_OK; i++)
		status = ina_strands_forget(comm->strands.comms[i], memory, bytes, failure);
	return status;
}

/* Adds a strand's counters. The sum is computed anew each time, so the first strand replaces it. */
static void add(struct ina_stats *sum, const struct ina_stats *strand, bool is_first)
{
	const uint64_t keep = is_first ? 0 : ~(uint64_t)0;

#define ADD(counter) sum->counter = (sum->counter & keep) + strand->counter
	ADD(messages_aggregated);
	ADD(messages_ring);
	ADD(messages_congested);
	ADD(messages_retried);
	ADD(bytes_aggregated);
	ADD(bytes_ring);
	ADD(bytes_doubling);
	ADD(fallbacks);
	ADD(rejoins);
	ADD(yields);
	ADD(registrations);
	ADD(blocks_fixed);
	ADD(blocks_float);
#undef ADD
}

/*
 * The algorithm in use is the aggregator if some strand uses it, because a strand that has lost its
 * aggregator carries little.
 */
void ina_strands_count(const struct ina_strands *strands, struct ina_stats *stats)
{
	for (int i = 0; i < strands->count; i++) {
		const struct ina_stats *strand = &strands->comms[i]->stats;

		add(stats, strand, i == 0);
		if (i > 0 && strand->algorithm != INA_ALGORITHM_INA)
			continue;
		stats->algorithm = strand->algorithm;
		stats->message_bytes = strand->message_bytes;
		if (strand->window > 0) /* the strand has several ranks */
			stats->window = strand->window;
	}
}
