/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a communicator over machines with several ranks each. */
#include "parallel.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/deadline.h"
#include "hostlib/options/log.h"

/* Bytes that a step moves, over all rails: the more, the less often a rail is between two
 * all-reduces. */
#define STEP_BYTES ((size_t)1 << 22)

/*
 * Messages under way on a rail. All of a machine's rails are on one link, and each needs some to be
 * on their way while others' are: twice its share of a window keeps the link busy, and more only
 * waits in queues, until it is taken for lost.
 */
static unsigned int rail_window(unsigned int window, int rails)
{
	unsigned int share = (2 * window + (unsigned int)rails - 1) / (unsigned int)rails;

	return share < window ? share : window;
}

/* The flat communicator of this rank's rail: ranks are machines there. */
static enum ina_status open_rail(struct ina_comm *comm, const struct ina_roster *roster,
                                 int listener, struct ina_failure *failure)
{
	struct ina_parallel *parallel = comm->parallel;
	const struct ina_topology *topology = &parallel->topology;
	const struct ina_endpoint *leader =
	        &roster->endpoints[ina_topology_rank(topology, 0, topology->local)];
	struct ina_failure own = {INA_OK, ""};
	struct ina_comm *rail = calloc(1, sizeof(*rail));

	if (!rail)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for a rail");
	parallel->rail = rail;
	rail->is_rail = true;
	ina_pollset_init(&rail->pollset);
	rail->settings = comm->settings;
	rail->settings.options.rank = topology->machine;
	rail->settings.options.ranks = topology->machines;
	rail->settings.options.schedule = INA_SCHEDULE_FLAT;
	rail->settings.options.window = rail->settings.receives =
	        rail_window(comm->settings.options.window, topology->rails);
	rail->settings.root = (struct sockaddr_in){.sin_family = AF_INET,
	                                           .sin_addr.s_addr = leader->address,
	                                           .sin_port = leader->tcp_port};
	rail->settings.listener = topology->machine == 0 ? listener : -1;
	if (ina_comm_open(rail, &own) == INA_OK)
		return INA_OK;
	rail->failure = own; /* so that closing waits for nobody */
	return ina_fail(failure, own.status, "rail %d, where ranks are machines: %s",
	                topology->local, own.text);
}

static enum ina_status register_rail(struct ina_parallel *parallel, struct ina_failure *failure)
{
	size_t bytes;
	uint8_t *memory;

	if (!parallel->rail || parallel->rail->ranks == 1)
		return INA_OK;
	memory = ina_local_rail_memory(&parallel->local, parallel->local.index, &bytes);
	return ina_memory_register(&parallel->rail->memory, memory, bytes, failure);
}

static void describe(struct ina_comm *comm, bool aggregated)
{
	const struct ina_topology *topology = &comm->parallel->topology;
	struct ina_stats *stats = &comm->stats;
	const struct ina_comm *rail = comm->parallel->rail;

	stats->algorithm = aggregated ? INA_ALGORITHM_INA : INA_ALGORITHM_RING;
	stats->rails = (unsigned int)topology->rails;
	if (rail) {
		stats->path_mtu = rail->stats.path_mtu;
		stats->message_bytes = rail->stats.message_bytes;
	}
	stats->window = rail_window(comm->settings.options.window, topology->rails);
	snprintf(comm->how, sizeof(comm->how), "%d machines of %d to %d ranks, %d rails, %s",
	         topology->machines, topology->fewest, topology->most, topology->rails,
	         topology->machines == 1 ? "nothing between machines"
	         : aggregated            ? "all aggregated"
	                                 : "not all aggregated");
	ina_log(comm, "local rank %d of %d on machine %d: %s", topology->local, topology->locals,
	        topology->machine, comm->how);
}

static enum ina_status open_all(struct ina_comm *comm, const struct ina_roster *roster,
                                int listener, struct ina_failure *failure)
{
	struct ina_parallel *parallel = comm->parallel;
	const struct ina_topology *topology = &parallel->topology;
	const struct ina_options *options = &comm->settings.options;
	int64_t deadline_ms =
	        ina_now_ms() + 2 * (int64_t)options->open_timeout_ms + options->join_timeout_ms;
	uint32_t segment;
	uint32_t aggregated;

	/* Every failure goes into an agreement, so that no rank waits in vain. */
	failure->status = INA_OK;
	if (topology->local < topology->rails)
		open_rail(comm, roster, listener, failure);
	if (failure->status == INA_OK)
		ina_intra_open(&parallel->intra, comm->settings.intra_gbps, failure);
	segment = (uint32_t)(STEP_BYTES / (size_t)topology->rails + 63) / 64 * 64;
	if (ina_comm_agree(comm, "", "connect with the other machines", false, &segment,
	                   deadline_ms, failure) != INA_OK)
		return failure->status;
	if (ina_local_open(&parallel->local, topology, roster->job_id, segment, &comm->control,
	                   deadline_ms, failure) == INA_OK)
		register_rail(parallel, failure);
	aggregated = !parallel->rail || parallel->rail->aggregated;
	if (ina_comm_agree(comm, "", "share memory with the other ranks of its machine", false,
	                   &aggregated, deadline_ms, failure) != INA_OK)
		return failure->status;
	describe(comm, aggregated != 0 && topology->machines > 1);
	return INA_OK;
}

enum ina_status ina_parallel_open(struct ina_comm *comm, const struct ina_topology *topology,
                                  const struct ina_roster *roster, int listener,
                                  struct ina_failure *failure)
{
	bool leads = topology->machine == 0 && topology->local < topology->rails;

	/* Who does not wait at it does not need it; the bootstrap closes it after use. */
	if (!leads || topology->machines == 1) {
		close(listener);
		listener = -1;
	}
	comm->parallel = calloc(1, sizeof(*comm->parallel));
	if (!comm->parallel) {
		if (listener >= 0)
			close(listener);
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for rails");
	}
	comm->parallel->topology = *topology;
	comm->parallel->differs = -1;
	comm->parallel->epoll_fd = comm->parallel->timer_fd = -1;
	comm->parallel->intra.timer_fd = -1;
	ina_local_init(&comm->parallel->local);
	snprintf(comm->stats.device, sizeof(comm->stats.device), "%s", comm->fabric.device);
	/* The rails have their own. */
	ina_fabric_close(&comm->fabric);
	memset(&comm->fabric, 0, sizeof(comm->fabric));
	return open_all(comm, roster, listener, failure);
}

/* All ranks have called ina_close(). Until then others may need this one's help on its rail. */
static enum ina_status part(struct ina_comm *comm, struct ina_failure *failure)
{
	struct ina_parallel *parallel = comm->parallel;
	int64_t deadline_ms = ina_now_ms() + comm->settings.options.timeout_ms;
	struct ina_failure none = {INA_OK, ""};
	const struct ina_vote vote = {
	        .what = "", .doing = "call ina_close", .call = comm->current, .failed = &none};
	uint32_t value;

	ina_agree_begin(&comm->control, &vote);
	for (;;) {
		struct pollfd fds[INA_PARALLEL_FDS];
		enum ina_agreement agreement =
		        ina_agree_poll(&comm->control, &vote, deadline_ms, &value, failure);

		if (agreement == INA_AGREED)
			return INA_OK;
		if (agreement == INA_NOT_AGREED)
			return failure->status;
		if (agreement == INA_DISTURBED) {
			ina_comm_fault(comm, NULL);
			while (comm->phase != INA_STEADY)
				ina_parallel_mend(comm, INA_STALL_MS);
			*failure = comm->failure;
			return failure->status;
		}
		if (parallel->rail)
			ina_parallel_attend(parallel->rail);
		poll(fds, (nfds_t)ina_parallel_pollfds(comm, fds), INA_STALL_MS);
		ina_local_awake(&parallel->local, true);
		ina_local_look(&parallel->local);
	}
}

enum ina_status ina_parallel_close(struct ina_comm *comm, struct ina_failure *failure)
{
	struct ina_parallel *parallel = comm->parallel;
	struct ina_comm *rail = parallel->rail;
	struct ina_failure own = {INA_OK, ""};

	failure->status = INA_OK;
	comm->previous = comm->current;
	comm->current = (struct ina_call){.kind = INA_CALL_CLOSE, .number = comm->previous.number};
	if (comm->failure.status == INA_OK)
		part(comm, failure);
	if (rail) {
		if (rail->failure.status == INA_OK)
			rail->failure = comm->failure.status != INA_OK ? comm->failure : *failure;
		ina_comm_close(rail, &own);
		free(rail);
	}
	if (failure->status == INA_OK && comm->failure.status == INA_OK)
		*failure = own;
	ina_local_close(&parallel->local);
	ina_intra_close(&parallel->intra);
	if (parallel->epoll_fd >= 0)
		close(parallel->epoll_fd);
	if (parallel->timer_fd >= 0)
		close(parallel->timer_fd);
	free(parallel);
	comm->parallel = NULL;
	return failure->status;
}
