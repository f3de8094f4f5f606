/* SPDX-License-Identifier: Apache-2.0 */
/* Opens channels, and agrees with all ranks that all have theirs. */
#include "channels_open.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/deadline.h"
#include "flat.h"
#include "hostlib/channels/channels.h"
#include "strand_open.h"

static enum ina_status open_channel(struct ina_comm *comm, const struct ina_roster *roster,
                                    int *listener, struct ina_failure *failure)
{
	const int channel = comm->strands.count;
	struct ina_strand strand = {
	        .rank = comm->rank,
	        .ranks = comm->ranks,
	        .leader = &roster->endpoints[0],
	        .listener = -1,
	        .count = comm->settings.options.channels,
	        .trees = (unsigned int)channel,
	        .channels = 1,
	};
	struct ina_failure own = {INA_OK, ""};

	if (comm->rank == 0)
		strand.listener = fcntl(*listener, F_DUPFD_CLOEXEC, 0);
	/*
	 * The ranks that connect to this channel learn of the failure there, and no further channel
	 * is opened.
	 */
	if (comm->rank == 0 && strand.listener < 0) {
		ina_fail(&own, INA_ERR_SYSTEM, "cannot open a socket for a channel: %s",
		         strerror(errno));
		strand.listener = *listener;
		*listener = -1;
	}
	if (ina_strand_open(comm, &strand, ina_comm_connect_flat, &own) == INA_OK)
		return INA_OK;
	return ina_fail(failure, own.status, "channel %d: %s", channel, own.text);
}

static void describe_channels(struct ina_comm *comm)
{
	const struct ina_stats *first = &comm->strands.comms[0]->stats;
	int aggregated = 0;

	for (int c = 0; c < comm->strands.count; c++)
		aggregated += comm->strands.comms[c]->stats.algorithm == INA_ALGORITHM_INA;
	comm->stats.path_mtu = first->path_mtu;
	ina_strands_count(&comm->strands, &comm->stats);
	ina_log(&comm->log, "%d channels, %d of them aggregated", comm->strands.count, aggregated);
}

enum ina_status ina_comm_connect_channels(struct ina_comm *comm, const struct ina_met *met,
                                          struct ina_failure *failure)
{
	const struct ina_options *options = &comm->settings.options;
	int64_t deadline_ms =
	        ina_now_ms() + options->channels * (2 * (int64_t)options->open_timeout_ms +
	                                            options->join_timeout_ms);
	int listener = met->listener;
	uint32_t unit = 0;

	if (options->channels <= 1)
		return ina_comm_connect_flat(comm, met, failure);
	ina_strand_replace_network(comm);
	/* Every failure goes into an agreement, so that no rank waits without reason. */
	failure->status = INA_OK;
	while (failure->status == INA_OK && comm->strands.count < options->channels)
		open_channel(comm, &met->roster, &listener, failure);
	if (listener >= 0)
		close(listener);
	if (failure->status == INA_OK) {
		/*
		 * The ring's messages have the length of the options, whatever the aggregators
		 * grant.
		 */
		unit = comm->strands.comms[0]->network.hosts.ring.connection.limit_bytes;
		ina_channels_open(comm, unit, failure);
	}
	if (ina_agree_on(&comm->control, "message bytes", "open its channels", true, &unit,
	                 deadline_ms, failure) != INA_OK)
		return failure->status;
	ina_comm_use(comm, &ina_channels_algorithm, comm->channels);
	describe_channels(comm);
	return INA_OK;
}
