/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on a communicator: statistics, and the trees of its channels. */
#include <stdio.h>
#include <string.h>

#include "hostlib/algorithms/tree_draw.h"
#include "hostlib/channels/channels.h"
#include "hostlib/machine/parallel.h"
#include "progress.h"

/*
 * The communicator that has the channels: the rail if there are rails, and NULL if this rank owns
 * none.
 */
static const struct ina_comm *between_machines(const ina_comm *comm)
{
	return comm->parallel ? ina_parallel_rail(comm->parallel) : comm;
}

static const struct ina_comm *channel_of(const struct ina_comm *comm, int channel)
{
	return comm->channels ? comm->strands.comms[channel] : comm;
}

static void tell_channels(const ina_comm *comm, struct ina_stats *stats)
{
	const struct ina_comm *flat = between_machines(comm);
	uint32_t weights[INA_MAX_CHANNELS] = {1};

	if (!flat)
		return;
	stats->channels = flat->channels ? (unsigned int)flat->strands.count : 1;
	if (flat->channels)
		ina_shares_weigh(&flat->channels->known, flat->strands.count, weights);
	for (unsigned int c = 0; c < stats->channels; c++) {
		const struct ina_comm *channel = channel_of(flat, (int)c);
		const struct ina_tree *tree = &channel->network.tree;

		stats->channel_weights[c] = weights[c];
		stats->channel_bytes[c] =
		        channel->stats.bytes_aggregated + channel->stats.bytes_ring;
		if (flat->ranks > 1 && tree->verdict == INA_TREE_SUMS)
			stats->channel_tops[c] = ina_tree_slot(tree, 0, tree->top)->id;
	}
}

void ina_comm_stats(const ina_comm *comm, struct ina_stats *stats, size_t size)
{
	struct ina_stats now;

	if (!stats)
		return;
	memset(stats, 0, size);
	if (!comm || comm->opening)
		return;
	ina_enter(comm);
	now = comm->stats;
	if (!comm->is_over)
		tell_channels(comm, &now);
	now.unknown_peers = comm->control.unknown_peers + comm->network.transport.unknown_peers;
	ina_leave(comm);
	memcpy(stats, &now, size < sizeof(now) ? size : sizeof(now));
}

/* Characters that do not fit are counted, but not stored. */
struct text {
	char *start;
	size_t size;
	size_t used;
};

static char *end_of(const struct text *text, size_t *left)
{
	*left = text->used < text->size ? text->size - text->used : 0;
	return *left > 0 ? text->start + text->used : NULL;
}

static void explain_one(struct text *text, const struct ina_comm *channel)
{
	size_t left;
	char *end = end_of(text, &left);

	if (channel->ranks > 1)
		text->used += (size_t)ina_tree_draw(&channel->network.tree, end, left);
	end = end_of(text, &left);
	text->used += (size_t)snprintf(end, left, "when opened: %s\n", channel->how);
}

static void explain(struct text *text, const struct ina_comm *flat)
{
	for (int c = 0; c < (flat->channels ? flat->strands.count : 1); c++) {
		size_t left;
		char *end = end_of(text, &left);

		if (flat->channels)
			text->used += (size_t)snprintf(end, left, "channel %d:\n", c);
		explain_one(text, channel_of(flat, c));
	}
}

int ina_comm_explain(const ina_comm *comm, char *text, size_t size)
{
	struct text out = {text, text ? size : 0, 0};
	const struct ina_comm *flat;

	if (out.size > 0)
		text[0] = '\0';
	if (!comm)
		return -1;
	ina_enter(comm);
	/* The tree is in memory that a child of fork() does not have. */
	flat = comm->is_over ? NULL : between_machines(comm);
	if (flat)
		explain(&out, flat);
	ina_leave(comm);
	return (int)out.used;
}
