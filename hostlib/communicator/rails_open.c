/* SPDX-License-Identifier: Apache-2.0 */
/* Opens rails and shared memory, and agrees with all ranks that all have theirs. */
#include "rails_open.h"

#include <stdlib.h>
#include <unistd.h>

#include "channels_open.h"
#include "common/deadline.h"
#include "hostlib/machine/parallel.h"
#include "strand_open.h"

/*
 * The bytes that a step moves over all rails. With more bytes, a rail is less often between two
 * all-reduces.
 */
#define STEP_BYTES ((size_t)1 << 22)

/* Opens the communicator of this rank's rail; its rank numbers are those of the machines. */
static enum ina_status open_rail(struct ina_comm *comm, const struct ina_roster *roster,
                                 int listener, struct ina_failure *failure)
{
	const struct ina_layout *layout = &comm->parallel->layout;
	const int channels = comm->settings.options.channels;
	const struct ina_strand strand = {
	        .rank = layout->machine,
	        .ranks = layout->machines,
	        .leader = &roster->endpoints[ina_layout_rank(layout, 0, layout->local)],
	        .listener = layout->machine == 0 ? listener : -1,
	        .count = layout->rails,
	        .trees = (unsigned int)(layout->local * channels),
	        .channels = channels,
	};
	struct ina_failure own = {INA_OK, ""};

	if (ina_strand_open(comm, &strand, ina_comm_connect_channels, &own) == INA_OK)
		return INA_OK;
	return ina_fail(failure, own.status, "rail %d, whose ranks are machines: %s", layout->local,
	                own.text);
}

/*
 * If this fails, the memory of each step is registered or copied separately, and the log says so.
 */
static void register_rail(struct ina_parallel *parallel)
{
	struct ina_comm *rail = ina_parallel_rail(parallel);
	struct ina_failure ignored;
	size_t bytes;
	uint8_t *memory;

	if (!rail)
		return;
	memory = ina_local_rail_memory(&parallel->local, parallel->local.index, &bytes);
	ina_strands_register(rail, memory, bytes, &ignored);
}

static void describe_rails(struct ina_comm *comm, bool aggregated)
{
	const struct ina_layout *layout = &comm->parallel->layout;
	struct ina_stats *stats = &comm->stats;
	const struct ina_comm *rail = ina_parallel_rail(comm->parallel);

	stats->algorithm = aggregated ? INA_ALGORITHM_INA : INA_ALGORITHM_RING;
	stats->rails = (unsigned int)layout->rails;
	if (rail) {
		stats->path_mtu = rail->stats.path_mtu;
		stats->message_bytes = rail->stats.message_bytes;
	}
	stats->window = rail && rail->ranks > 1
	                        ? rail->stats.window
	                        : ina_strand_window(comm->settings.options.window, layout->rails);
	ina_log(&comm->log,
	        "local rank %d of %d on machine %d: %d machines of %d to %d ranks, %d rails, %s",
	        layout->local, layout->locals, layout->machine, layout->machines, layout->fewest,
	        layout->most, layout->rails,
	        layout->machines == 1 ? "nothing between machines"
	        : aggregated          ? "all aggregated"
	                              : "not all aggregated");
}

/* Opens rails and shared memory, and agrees that all ranks have both. */
static enum ina_status connect_rails(struct ina_comm *comm, const struct ina_roster *roster,
                                     int listener, struct ina_failure *failure)
{
	struct ina_parallel *parallel = comm->parallel;
	const struct ina_layout *layout = &parallel->layout;
	const struct ina_options *options = &comm->settings.options;
	int64_t deadline_ms =
	        ina_now_ms() + 2 * (int64_t)options->open_timeout_ms + options->join_timeout_ms;
	uint32_t segment = (uint32_t)(STEP_BYTES / (size_t)layout->rails + 63) / 64 * 64;
	uint32_t aggregated;

	/* Every failure goes into an agreement, so that no rank waits without reason. */
	failure->status = INA_OK;
	if (layout->local < layout->rails)
		open_rail(comm, roster, listener, failure);
	if (failure->status == INA_OK)
		ina_intra_open(&parallel->intra, comm->settings.variables.intra_gbps, failure);
	if (ina_agree_on(&comm->control, "", "connect to the other machines", false, &segment,
	                 deadline_ms, failure) != INA_OK)
		return failure->status;
	if (ina_local_open(&parallel->local, layout, roster->job_id, segment, &comm->control,
	                   deadline_ms, failure) == INA_OK)
		register_rail(parallel);
	aggregated = comm->strands.count == 0 ||
	             comm->strands.comms[0]->stats.algorithm == INA_ALGORITHM_INA;
	if (ina_agree_on(&comm->control, "", "share memory with the other ranks of its machine",
	                 false, &aggregated, deadline_ms, failure) != INA_OK)
		return failure->status;
	ina_comm_use(comm, &ina_parallel_algorithm, parallel);
	describe_rails(comm, aggregated != 0 && layout->machines > 1);
	return INA_OK;
}

enum ina_status ina_comm_connect_rails(struct ina_comm *comm, const struct ina_met *met,
                                       struct ina_failure *failure)
{
	const struct ina_layout *layout = &met->layout;
	bool leads = layout->machine == 0 && layout->local < layout->rails;
	struct ina_parallel *parallel = ina_parallel_new(layout);
	uint32_t nothing = 0;
	int listener = met->listener;

	/*
	 * Only the first rank of a rail keeps the listener, until the rail's bootstrap closes it.
	 */
	if (!parallel || !leads || layout->machines == 1) {
		close(listener);
		listener = -1;
	}
	/*
	 * Report this failure now: from here until its rail is open, a rank communicates only with
	 * the ranks of the rail.
	 */
	if (!parallel)
		ina_fail(failure, INA_ERR_MEMORY, "no memory for rails");
	comm->parallel = parallel;
	if (parallel) {
		parallel->strands = &comm->strands;
		parallel->control = &comm->control;
		parallel->turn = &comm->turn;
		parallel->failure = &comm->failure;
	}
	if (ina_agree_on(&comm->control, "", "open its rail", false, &nothing,
	                 ina_now_ms() + comm->settings.options.open_timeout_ms,
	                 failure) != INA_OK) {
		if (listener >= 0)
			close(listener);
		return failure->status;
	}
	ina_strand_replace_network(comm);
	return connect_rails(comm, &met->roster, listener, failure);
}
