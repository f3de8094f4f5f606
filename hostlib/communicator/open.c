/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of a communicator: the ranks meet (bootstrap), connect, JOIN, and choose the
 * algorithm; on machines with several ranks, rail by rail.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/deadline.h"
#include "communicator.h"
#include "fork.h"
#include "hostlib/algorithms/alone.h"
#include "hostlib/algorithms/trace.h"
#include "hostlib/bootstrap/meeting.h"
#include "hostlib/bootstrap/mesh.h"
#include "hostlib/machine/parallel.h"
#include "places.h"

/* Bytes that a step moves, over all rails: the more, the less often a rail is between two
 * all-reduces. */
#define STEP_BYTES ((size_t)1 << 22)

static const char *address_text(uint32_t address, char text[INET_ADDRSTRLEN])
{
	const struct in_addr in = {address};

	return inet_ntop(AF_INET, &in, text, INET_ADDRSTRLEN) ? text : "?";
}

/* The line of an open communicator: device, GID, MTU, neighbours, and how it all-reduces. */
static void log_opened(const struct ina_comm *comm)
{
	const struct ina_fabric *fabric = &comm->network.fabric;
	const struct ina_neighbour *from = &fabric->previous[INA_PURPOSE_AGGREGATE];
	const struct ina_neighbour *to = &fabric->next[INA_PURPOSE_AGGREGATE];
	char local[INET_ADDRSTRLEN];
	char previous[INET_ADDRSTRLEN];
	char next[INET_ADDRSTRLEN];
	char gid[INET6_ADDRSTRLEN] = "?";

	inet_ntop(AF_INET6, &fabric->gid, gid, sizeof(gid));
	ina_log(&comm->log,
	        "%s %s, GID %d %s, path MTU %u, from rank %d at %s, to rank %d at %s, messages of "
	        "%u bytes, window %u: %s",
	        fabric->device, address_text(fabric->local.address, local), fabric->gid_index, gid,
	        fabric->path_mtu, from->rank, address_text(from->endpoint.address, previous),
	        to->rank, address_text(to->endpoint.address, next), comm->stats.message_bytes,
	        comm->stats.window, comm->how);
}

/* Why a JOIN was not joined, or what there is instead. */
static void explain_how(struct ina_comm *comm, bool aggregated, bool own_joined)
{
	const size_t size = sizeof(comm->how);
	char *how = comm->how;
	const struct ina_options *options = &comm->settings.options;
	const struct ina_innet *innet = &comm->network.innet;
	const struct ina_tree *tree = &comm->network.tree;

	if (comm->network.plain)
		snprintf(how, size, "plainly to the successor");
	else if (aggregated && innet->place != 0)
		snprintf(how, size, "aggregated by switches of %u levels, %u of %u packets granted",
		         tree->top, innet->granted_packets, comm->network.window_packets);
	else if (aggregated)
		snprintf(how, size, "aggregated, %u of %u packets granted", innet->granted_packets,
		         comm->network.window_packets);
	else if (options->algorithm == INA_ALGORITHM_RING)
		snprintf(how, size, "by ring, as asked for");
	else if (!ina_tree_may_sum(&comm->network.tree))
		snprintf(how, size, "by ring: %s", tree->why);
	else if (own_joined)
		snprintf(how, size, "by ring: another rank's JOIN was not joined");
	else if (innet->contributors == (uint32_t)comm->ranks)
		snprintf(how, size, "by ring: the JOIN was not acknowledged within %d ms",
		         options->join_timeout_ms);
	else if (innet->received > 0)
		snprintf(how, size, "by ring: no aggregator, or it refused (%u of %d joined)",
		         innet->contributors, comm->ranks);
	else
		snprintf(how, size, "by ring: no JOIN came back within %d ms",
		         options->join_timeout_ms);
}

/* joined: every rank's JOIN came back as a sum. own_joined: this rank's did. */
static enum ina_status choose_algorithm(struct ina_comm *comm, bool joined, bool own_joined,
                                        struct ina_failure *failure)
{
	const struct ina_options *options = &comm->settings.options;
	struct ina_network *network = &comm->network;
	bool aggregated = joined || network->plain;

	explain_how(comm, aggregated, own_joined);
	if (!aggregated && options->algorithm == INA_ALGORITHM_INA) {
		ina_innet_abandon(&network->innet, true);
		if (!ina_tree_may_sum(&comm->network.tree))
			return ina_fail(failure, INA_ERR_AGGREGATOR,
			                "%s; with algorithm auto the ring would be used",
			                network->tree.why);
		return ina_fail(failure, INA_ERR_AGGREGATOR,
		                "no aggregator joined the %d ranks within %d ms; with algorithm "
		                "auto the ring would be used",
		                comm->ranks, options->join_timeout_ms);
	}
	if (!aggregated && options->algorithm == INA_ALGORITHM_AUTO) {
		ina_innet_abandon(&network->innet, false);
		ina_rejoin_later(&comm->recovery.rejoin, &comm->recovery.context);
	}
	if (aggregated)
		ina_comm_use(comm, &ina_in_network_algorithm, &network->innet);
	else
		ina_comm_use(comm, &ina_hosts_algorithm, &network->hosts);
	comm->stats.algorithm = aggregated ? INA_ALGORITHM_INA : INA_ALGORITHM_RING;
	ina_network_describe(network, &comm->stats);
	log_opened(comm);
	return INA_OK;
}

/* Flat: connections round the ring of all ranks, memory, and a JOIN. */
static enum ina_status connect_all(struct ina_comm *comm, const struct ina_roster *roster,
                                   int64_t deadline_ms, struct ina_failure *failure)
{
	const struct ina_options *options = &comm->settings.options;
	struct ina_network *network = &comm->network;
	struct ina_stats *stats = &comm->stats;
	uint32_t value;
	bool asks = !network->plain && options->algorithm != INA_ALGORITHM_RING;
	bool joined;
	enum ina_status status;

	/* From here on every failure goes into an agreement, so that no rank waits in vain. */
	status = ina_fabric_connect(&network->fabric, &comm->control, roster, deadline_ms, failure);
	value = network->fabric.path_mtu;
	network->apart.turn = &comm->turn;
	if (status == INA_OK)
		status = ina_network_open(network, &comm->control, &comm->settings, roster->job_id,
		                          failure);
	if (status == INA_OK && asks)
		ina_trace_expect(network, failure);
	status = ina_agree_on(&comm->control, "path MTU", "connect to its neighbours", true, &value,
	                      deadline_ms, failure);
	if (status != INA_OK)
		return status;

	deadline_ms += options->join_timeout_ms;
	if (asks)
		status = ina_comm_find_places(comm, deadline_ms, failure);
	joined = status == INA_OK && asks && ina_tree_may_sum(&comm->network.tree) &&
	         ina_network_exchange(network, INA_WIRE_JOIN, options->join_timeout_ms);
	value = joined;
	status = ina_agree_on(&comm->control, "", "JOIN the aggregator", false, &value,
	                      deadline_ms + options->join_timeout_ms, failure);
	if (status != INA_OK)
		return status;
	stats->path_mtu = network->fabric.path_mtu;
	snprintf(stats->device, sizeof(stats->device), "%s", network->fabric.device);
	return choose_algorithm(comm, value != 0, joined, failure);
}

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

/* The communicator of this rank's rail: ranks are machines there. */
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
	ina_comm_init(rail);
	rail->settings = comm->settings;
	rail->settings.options.rank = topology->machine;
	rail->settings.options.ranks = topology->machines;
	rail->settings.options.schedule = INA_SCHEDULE_FLAT;
	rail->settings.options.window = rail->settings.receives =
	        rail_window(comm->settings.options.window, topology->rails);
	rail->settings.root = (struct sockaddr_in){.sin_family = AF_INET,
	                                           .sin_addr.s_addr = leader->address,
	                                           .sin_port = leader->tcp_port};
	rail->settings.root_ports = 1;
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
	return ina_memory_register(&parallel->rail->network.memory, memory, bytes, failure);
}

static void describe_rails(struct ina_comm *comm, bool aggregated)
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
	stats->window = rail && rail->ranks > 1
	                        ? rail->stats.window
	                        : rail_window(comm->settings.options.window, topology->rails);
	ina_log(&comm->log,
	        "local rank %d of %d on machine %d: %d machines of %d to %d ranks, %d rails, %s",
	        topology->local, topology->locals, topology->machine, topology->machines,
	        topology->fewest, topology->most, topology->rails,
	        topology->machines == 1 ? "nothing between machines"
	        : aggregated            ? "all aggregated"
	                                : "not all aggregated");
}

/* Rails, shared memory, and an agreement that all have both. */
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

	/* Every failure goes into an agreement, so that no rank waits in vain. */
	failure->status = INA_OK;
	if (topology->local < topology->rails)
		open_rail(comm, roster, listener, failure);
	if (failure->status == INA_OK)
		ina_intra_open(&parallel->intra, comm->settings.intra_gbps, failure);
	if (ina_agree_on(&comm->control, "", "connect with the other machines", false, &segment,
	                 deadline_ms, failure) != INA_OK)
		return failure->status;
	if (ina_local_open(&parallel->local, topology, roster->job_id, segment, &comm->control,
	                   deadline_ms, failure) == INA_OK)
		register_rail(parallel, failure);
	aggregated = !parallel->rail || parallel->rail->stats.algorithm == INA_ALGORITHM_INA;
	if (ina_agree_on(&comm->control, "", "share memory with the other ranks of its machine",
	                 false, &aggregated, deadline_ms, failure) != INA_OK)
		return failure->status;
	ina_comm_use(comm, &ina_parallel_algorithm, parallel);
	describe_rails(comm, aggregated != 0 && topology->machines > 1);
	return INA_OK;
}

/*
 * listener: a TCP socket, which this function takes over and closes. The rail's rank on machine 0
 * accepts the others of the rail on it.
 */
static enum ina_status open_parallel(struct ina_comm *comm, const struct ina_topology *topology,
                                     const struct ina_roster *roster, int listener,
                                     struct ina_failure *failure)
{
	bool leads = topology->machine == 0 && topology->local < topology->rails;
	struct ina_parallel *parallel = ina_parallel_new(topology);

	/* Only that rank keeps it, until the bootstrap of the rail closes it. */
	if (!parallel || !leads || topology->machines == 1) {
		close(listener);
		listener = -1;
	}
	if (!parallel)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for rails");
	comm->parallel = parallel;
	parallel->control = &comm->control;
	parallel->turn = &comm->turn;
	parallel->failure = &comm->failure;
	snprintf(comm->stats.device, sizeof(comm->stats.device), "%s", comm->network.fabric.device);
	/* The rails have their own. */
	ina_network_close(&comm->network);
	memset(&comm->network, 0, sizeof(comm->network));
	comm->recovery.context.network = NULL;
	return connect_rails(comm, roster, listener, failure);
}

static void find_machines(struct ina_comm *comm, const struct ina_roster *roster,
                          struct ina_topology *topology, struct ina_location *where)
{
	bool flat = comm->settings.options.schedule == INA_SCHEDULE_FLAT;
	uint64_t hosts[INA_MAX_RANKS];

	/* Flat: nobody has said which machine it is, and each rank counts as one. */
	for (int r = 0; r < comm->ranks; r++)
		hosts[r] = flat ? (uint64_t)r : roster->endpoints[r].host;
	ina_topology_make(topology, where, hosts, comm->ranks, comm->rank,
	                  comm->settings.options.schedule);
	comm->stats.machines = (unsigned int)topology->machines;
	comm->stats.local_ranks = (unsigned int)topology->locals;
}

/* The ranks meet, and find out who is on whose machine; flat, or on rails, they connect. */
static enum ina_status meet(struct ina_comm *comm, struct ina_failure *failure)
{
	int64_t deadline_ms = ina_now_ms() + comm->settings.options.open_timeout_ms;
	struct ina_endpoint *local = &comm->network.fabric.local;
	struct ina_location where[INA_MAX_RANKS];
	struct ina_topology topology;
	struct ina_roster roster;
	int listener = -1;
	enum ina_status status = ina_control_init(&comm->control, comm->rank, comm->ranks, failure);

	if (status == INA_OK)
		status = ina_fabric_open(&comm->network.fabric, &comm->settings, failure);
	if (status == INA_OK && comm->settings.options.schedule != INA_SCHEDULE_FLAT)
		status = ina_topology_identity(&local->host, failure);
	if (status == INA_OK)
		status = ina_mesh_listen(&listener, &local->tcp_port, failure);
	if (status == INA_OK)
		status = ina_meet(&comm->control, &comm->settings, local, listener, deadline_ms,
		                  &roster, failure);
	if (status == INA_OK) {
		find_machines(comm, &roster, &topology, where);
		if (topology.rails > 0)
			return open_parallel(comm, &topology, &roster, listener, failure);
	}
	if (listener >= 0)
		close(listener);
	return status == INA_OK ? connect_all(comm, &roster, deadline_ms, failure) : status;
}

enum ina_status ina_comm_open(struct ina_comm *comm, struct ina_failure *failure)
{
	enum ina_status status = INA_OK;

	comm->rank = comm->settings.options.rank;
	comm->ranks = comm->settings.options.ranks;
	/* Each rank may be a window ahead of its predecessor, all round the ring. */
	if (comm->network.plain)
		comm->settings.receives *= (unsigned int)comm->ranks;
	if (comm->ranks == 1 && comm->rank != 0)
		return ina_fail(failure, INA_ERR_ARGUMENT, "rank %d of 1: the only rank is 0",
		                comm->rank);
	status = ina_log_open(&comm->log, &comm->settings.options, failure);
	if (status != INA_OK)
		return status;
	if (comm->network.plain)
		comm->settings.options.schedule = INA_SCHEDULE_FLAT;
	comm->stats.machines = comm->stats.local_ranks = 1;
	if (comm->ranks > 1) {
		status = ina_fork_check(failure);
		if (status == INA_OK)
			status = meet(comm, failure);
		if (status == INA_OK)
			ina_fork_watch(comm);
		return status;
	}
	ina_comm_use(comm, &ina_alone_algorithm, NULL);
	comm->stats.algorithm = INA_ALGORITHM_RING;
	snprintf(comm->how, sizeof(comm->how), "alone: sums are copies");
	ina_log(&comm->log, "%s", comm->how);
	return INA_OK;
}
