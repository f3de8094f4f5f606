/* SPDX-License-Identifier: Apache-2.0 */
/* Opens rails and channels, and agrees with all ranks that all have theirs. */
#include "strands_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/deadline.h"
#include "communicator.h"
#include "hostlib/channels/channels.h"
#include "hostlib/machine/parallel.h"

/*
 * The bytes that a step moves over all rails. With more bytes, a rail is less often between two
 * all-reduces.
 */
#define STEP_BYTES ((size_t)1 << 22)

/* The parameters of one strand. */
struct strand {
	int rank;
	int ranks;
	const struct ina_endpoint *leader; /* endpoint of the strand's rank 0 */
	/* for rank 0 of the strand, which takes it over; otherwise -1 */
	int listener;
	int count;          /* number of strands on the same link */
	unsigned int trees; /* number of trees that earlier strands use */
	int channels;       /* channels of the strand itself */
};

/*
 * The messages under way on a strand. All strands of a machine share one link, and each needs some
 * messages on their way while the others use the link. Twice its share of a window keeps the link
 * busy. More messages would only wait in queues until they count as lost.
 */
static unsigned int strand_window(unsigned int window, int strands)
{
	unsigned int share = (2 * window + (unsigned int)strands - 1) / (unsigned int)strands;

	return share < window ? share : window;
}

/*
 * Opens the next strand. *own: on entry, an earlier error of this rank; on return, the error with
 * which it failed.
 */
static enum ina_status open_strand(struct ina_comm *comm, const struct strand *strand,
                                   struct ina_failure *own)
{
	struct ina_settings settings = comm->settings;
	struct ina_options *options = &settings.options;
	struct ina_comm *made = calloc(1, sizeof(*made));

	options->rank = strand->rank;
	options->ranks = strand->ranks;
	options->schedule = INA_SCHEDULE_FLAT;
	options->channels = strand->channels;
	options->window = settings.receives = strand_window(options->window, strand->count);
	settings.tree = (comm->settings.tree + strand->trees) % INA_WIRE_TREES;
	settings.keeps_tree = true; /* strands use different trees by their numbers */
	settings.root = (struct sockaddr_in){.sin_family = AF_INET,
	                                     .sin_addr.s_addr = strand->leader->address,
	                                     .sin_port = strand->leader->tcp_port};
	settings.root_ports = 1;
	settings.listener = strand->listener;
	settings.deadline_ms = ina_now_ms() + options->open_timeout_ms;
	if (!made) {
		ina_fail(own, INA_ERR_MEMORY, "no memory for a communicator");
		ina_comm_cannot_open(&settings, own);
		return own->status;
	}
	comm->strands.comms[comm->strands.count++] = made;
	ina_comm_init(made);
	made->settings = settings;
	made->log.outlet = comm->log.outlet ? comm->log.outlet : &comm->log;
	if (ina_comm_open(made, own) != INA_OK)
		made->failure = *own; /* so that closing does not wait for other ranks */
	return own->status;
}

/* Closes the communicator's network, because its strands have their own. */
static void give_up_network(struct ina_comm *comm)
{
	memcpy(comm->stats.device, comm->network.fabric.device, sizeof(comm->stats.device));
	ina_network_close(&comm->network);
	memset(&comm->network, 0, sizeof(comm->network));
	comm->recovery.context.network = NULL;
}

/* Opens the communicator of this rank's rail; its rank numbers are those of the machines. */
static enum ina_status open_rail(struct ina_comm *comm, const struct ina_roster *roster,
                                 int listener, struct ina_failure *failure)
{
	const struct ina_topology *topology = &comm->parallel->topology;
	const int channels = comm->settings.options.channels;
	const struct strand strand = {
	        .rank = topology->machine,
	        .ranks = topology->machines,
	        .leader = &roster->endpoints[ina_topology_rank(topology, 0, topology->local)],
	        .listener = topology->machine == 0 ? listener : -1,
	        .count = topology->rails,
	        .trees = (unsigned int)(topology->local * channels),
	        .channels = channels,
	};
	struct ina_failure own = {INA_OK, ""};

	if (open_strand(comm, &strand, &own) == INA_OK)
		return INA_OK;
	return ina_fail(failure, own.status, "rail %d, whose ranks are machines: %s",
	                topology->local, own.text);
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
	const struct ina_topology *topology = &comm->parallel->topology;
	struct ina_stats *stats = &comm->stats;
	const struct ina_comm *rail = ina_parallel_rail(comm->parallel);

	stats->algorithm = aggregated ? INA_ALGORITHM_INA : INA_ALGORITHM_RING;
	stats->rails = (unsigned int)topology->rails;
	if (rail) {
		stats->path_mtu = rail->stats.path_mtu;
		stats->message_bytes = rail->stats.message_bytes;
	}
	stats->window = rail && rail->ranks > 1
	                        ? rail->stats.window
	                        : strand_window(comm->settings.options.window, topology->rails);
	ina_log(&comm->log,
	        "local rank %d of %d on machine %d: %d machines of %d to %d ranks, %d rails, %s",
	        topology->local, topology->locals, topology->machine, topology->machines,
	        topology->fewest, topology->most, topology->rails,
	        topology->machines == 1 ? "nothing between machines"
	        : aggregated            ? "all aggregated"
	                                : "not all aggregated");
}

/* Opens rails and shared memory, and agrees that all ranks have both. */
static enum ina_status connect_rails(struct ina_comm *comm, const struct ina_roster *roster,
                                     int listener, struct ina_failure *failure)
{
	struct ina_parallel *parallel = comm->parallel;
	const struct ina_topology *topology = &parallel->topology;
	const struct ina_options *options = &comm->settings.options;
	int64_t deadline_ms =
	        ina_now_ms() + 2 * (int64_t)options->open_timeout_ms + options->join_timeout_ms;
	uint32_t segment = (uint32_t)(STEP_BYTES / (size_t)topology->rails + 63) / 64 * 64;
	uint32_t aggregated;

	/* Every failure goes into an agreement, so that no rank waits without reason. */
	failure->status = INA_OK;
	if (topology->local < topology->rails)
		open_rail(comm, roster, listener, failure);
	if (failure->status == INA_OK)
		ina_intra_open(&parallel->intra, comm->settings.intra_gbps, failure);
	if (ina_agree_on(&comm->control, "", "connect to the other machines", false, &segment,
	                 deadline_ms, failure) != INA_OK)
		return failure->status;
	if (ina_local_open(&parallel->local, topology, roster->job_id, segment, &comm->control,
	                   deadline_ms, failure) == INA_OK)
		register_rail(parallel);
	aggregated = comm->strands.count == 0 ||
	             comm->strands.comms[0]->stats.algorithm == INA_ALGORITHM_INA;
	if (ina_agree_on(&comm->control, "", "share memory with the other ranks of its machine",
	                 false, &aggregated, deadline_ms, failure) != INA_OK)
		return failure->status;
	ina_comm_use(comm, &ina_parallel_algorithm, parallel);
	describe_rails(comm, aggregated != 0 && topology->machines > 1);
	return INA_OK;
}

enum ina_status ina_comm_open_rails(struct ina_comm *comm, const struct ina_topology *topology,
                                    const struct ina_roster *roster, int listener,
                                    struct ina_failure *failure)
{
	bool leads = topology->machine == 0 && topology->local < topology->rails;
	struct ina_parallel *parallel = ina_parallel_new(topology);
	uint32_t nothing = 0;

	/*
	 * Only the first rank of a rail keeps the listener, until the rail's bootstrap closes it.
	 */
	if (!parallel || !leads || topology->machines == 1) {
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
	give_up_network(comm);
	return connect_rails(comm, roster, listener, failure);
}

static enum ina_status open_channel(struct ina_comm *comm, const struct ina_roster *roster,
                                    int *listener, struct ina_failure *failure)
{
	const int channel = comm->strands.count;
	struct strand strand = {
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
	if (open_strand(comm, &strand, &own) == INA_OK)
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

enum ina_status ina_comm_open_channels(struct ina_comm *comm, const struct ina_roster *roster,
                                       int listener, struct ina_failure *failure)
{
	const struct ina_options *options = &comm->settings.options;
	int64_t deadline_ms =
	        ina_now_ms() + options->channels * (2 * (int64_t)options->open_timeout_ms +
	                                            options->join_timeout_ms);
	uint32_t unit = 0;

	give_up_network(comm);
	/* Every failure goes into an agreement, so that no rank waits without reason. */
	failure->status = INA_OK;
	while (failure->status == INA_OK && comm->strands.count < options->channels)
		open_channel(comm, roster, &listener, failure);
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
