/* SPDX-License-Identifier: Apache-2.0 */
/* Connects a flat communicator, chooses its tree, and JOINs. */
#include "flat.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hostlib/algorithms/trace.h"
#include "places.h"

static const char *address_text(uint32_t address, char text[INET_ADDRSTRLEN])
{
	const struct in_addr in = {address};

	return inet_ntop(AF_INET, &in, text, INET_ADDRSTRLEN) ? text : "?";
}

/* Logs an open communicator: device, GID, MTU, neighbours, and how it all-reduces. */
static void log_opened(struct ina_comm *comm)
{
	const struct ina_transport *transport = &comm->network.transport;
	const struct ina_neighbour *from = &transport->previous[INA_PURPOSE_AGGREGATE];
	const struct ina_neighbour *to = &transport->next[INA_PURPOSE_AGGREGATE];
	char local[INET_ADDRSTRLEN];
	char previous[INET_ADDRSTRLEN];
	char next[INET_ADDRSTRLEN];
	char gid[INET6_ADDRSTRLEN] = "?";

	inet_ntop(AF_INET6, &transport->gid, gid, sizeof(gid));
	ina_log(&comm->log,
	        "%s %s, GID %d %s, path MTU %u, from rank %d at %s, to rank %d at %s, messages of "
	        "%u bytes, window %u: %s",
	        transport->device, address_text(transport->local.address, local),
	        transport->gid_index, gid, transport->path_mtu, from->rank,
	        address_text(from->endpoint.address, previous), to->rank,
	        address_text(to->endpoint.address, next), comm->stats.message_bytes,
	        comm->stats.window, comm->how);
}

/* The end of this rank's JOIN. */
enum join_end {
	JOIN_NONE, /* the rank sent no JOIN */
	JOIN_FAILED,
	JOIN_STOPPED, /* another rank's JOIN was refused */
	JOIN_JOINED,
};

#define OVER_RING "over the ring: "

/* A JOIN has come back, but not as the sum of all ranks' JOINs. */
static void explain_refusal(struct ina_comm *comm)
{
	const struct ina_innet *innet = &comm->network.innet;

	/* If the switches have answered TRACEs, there is an aggregator. */
	snprintf(comm->how, sizeof(comm->how),
	         comm->network.tree.verdict == INA_TREE_SUMS
	                 ? OVER_RING "the aggregator refused this job: no free context or memory, "
	                             "or a full quota (%u of %d ranks joined)"
	                 : OVER_RING "no aggregator, or it refused (%u of %d joined)",
	         innet->contributors, comm->ranks);
}

/* Writes how the communicator all-reduces and, if it is not aggregated, why. */
static void explain_how(struct ina_comm *comm, bool aggregated, enum join_end own)
{
	const size_t size = sizeof(comm->how);
	char *how = comm->how;
	const struct ina_options *options = &comm->settings.options;
	const struct ina_innet *innet = &comm->network.innet;
	const struct ina_tree *tree = &comm->network.tree;

	if (comm->network.plain)
		snprintf(how, size, "straight to the successor, not aggregated");
	else if (aggregated && innet->place != 0)
		snprintf(how, size, "aggregated by switches of %u levels, %u of %u packets granted",
		         tree->top, innet->granted_packets, comm->network.window_packets);
	else if (aggregated)
		snprintf(how, size, "aggregated, %u of %u packets granted", innet->granted_packets,
		         comm->network.window_packets);
	else if (options->algorithm == INA_ALGORITHM_RING)
		snprintf(how, size, "over the ring, as requested");
	else if (!ina_tree_may_sum(&comm->network.tree))
		snprintf(how, size, OVER_RING "%s", tree->why);
	else if (own == JOIN_JOINED ||
	         (own == JOIN_STOPPED && innet->contributors == (uint32_t)comm->ranks))
		snprintf(how, size, OVER_RING "the aggregator did not join another rank's JOIN");
	else if (own == JOIN_STOPPED && innet->received == 0)
		snprintf(how, size,
		         tree->verdict == INA_TREE_SUMS
		                 ? OVER_RING "the aggregator refused another rank's JOIN"
		                 : OVER_RING "no aggregator, or it refused another rank's JOIN");
	else if (innet->contributors == (uint32_t)comm->ranks)
		snprintf(how, size, OVER_RING "the JOIN was not acknowledged within %d ms",
		         options->join_timeout_ms);
	else if (innet->received > 0)
		explain_refusal(comm);
	else
		snprintf(how, size, OVER_RING "no JOIN came back within %d ms",
		         options->join_timeout_ms);
}

/* joined: every rank's JOIN came back as a sum. */
static enum ina_status choose_algorithm(struct ina_comm *comm, bool joined, enum join_end own,
                                        struct ina_failure *failure)
{
	const struct ina_options *options = &comm->settings.options;
	struct ina_network *network = &comm->network;
	bool aggregated = joined || network->plain;

	explain_how(comm, aggregated, own);
	if (!aggregated && options->algorithm == INA_ALGORITHM_INA) {
		ina_innet_abandon(&network->innet, true);
		if (!ina_tree_may_sum(&comm->network.tree))
			return ina_fail(failure, INA_ERR_AGGREGATOR,
			                "%s; with algorithm auto the ring would be used",
			                network->tree.why);
		return ina_fail(failure, INA_ERR_AGGREGATOR,
		                "%s; with algorithm auto the ring would be used",
		                comm->how + strlen(OVER_RING));
	}
	if (!aggregated && options->algorithm == INA_ALGORITHM_AUTO) {
		if (own != JOIN_NONE)
			ina_innet_abandon(&network->innet, false);
		ina_rejoin_refused(&comm->recovery.rejoin, &comm->recovery.context);
		ina_rejoin_look_out(&comm->recovery.rejoin, &comm->recovery.context);
	}
	if (joined)
		ina_rejoin_granted(&comm->recovery.rejoin);
	if (aggregated)
		ina_comm_use(comm, &ina_in_network_algorithm, &network->innet);
	else
		ina_comm_use(comm, &ina_hosts_algorithm, &network->hosts);
	comm->stats.algorithm = aggregated ? INA_ALGORITHM_INA : INA_ALGORITHM_RING;
	ina_network_describe(network, &comm->stats);
	log_opened(comm);
	return INA_OK;
}

/* The grant of the JOINs. */
struct grant {
	uint32_t packets;     /* 0: they were not granted */
	unsigned int further; /* the number of trees by which the job must move (spread.h) */
};

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * Packs the grant into one word, so that ranks can agree on the smallest. If a switch was reset,
 * they may have read different sums.
 */
static uint32_t pack_grant(const struct ina_network *network)
{
	unsigned int further =
	        ina_spread_further(&network->spread, &network->tree, network->innet.before);

	return least(network->innet.granted_packets, UINT16_MAX) << 16 |
	       (UINT16_MAX - least(further, UINT16_MAX));
}

static struct grant unpack_grant(uint32_t word)
{
	if (word == 0)
		return (struct grant){0, 0};
	return (struct grant){.packets = word >> 16, .further = UINT16_MAX - (word & UINT16_MAX)};
}

/* Sends a JOIN, and agrees with the other ranks on the grant, or that some JOIN was refused. */
static enum ina_status join(struct ina_comm *comm, bool asks, int64_t deadline_ms,
                            enum join_end *own, struct grant *grant, struct ina_failure *failure)
{
	struct ina_network *network = &comm->network;
	uint32_t word = 0;

	*own = JOIN_NONE;
	*grant = unpack_grant(0);
	if (asks && ina_tree_may_sum(&network->tree)) {
		if (ina_network_join(network, comm->settings.options.join_timeout_ms))
			*own = JOIN_JOINED;
		else
			*own = ina_agree_has_failed(&comm->control) ? JOIN_STOPPED : JOIN_FAILED;
	}
	if (*own == JOIN_JOINED)
		word = pack_grant(network);
	else if (*own != JOIN_NONE)
		ina_fail(failure, INA_ERR_AGGREGATOR, "the aggregator refused this rank");
	switch (ina_agree_on(&comm->control, "", "JOIN the aggregator", false, &word, deadline_ms,
	                     failure)) {
	case INA_OK:
		*grant = unpack_grant(word);
		return INA_OK;
	case INA_ERR_AGGREGATOR:
		failure->status = INA_OK;
		return INA_OK;
	default:
		return failure->status;
	}
}

/*
 * Finds a tree and JOINs there. If several jobs have chosen the same tree at the same time, the
 * sums of their JOINs show this, and all but the first job move to other trees.
 */
static enum ina_status join_a_tree(struct ina_comm *comm, bool asks, int64_t deadline_ms,
                                   enum join_end *own, struct grant *grant,
                                   struct ina_failure *failure)
{
	const int join_ms = comm->settings.options.join_timeout_ms;
	uint32_t nothing = 0;

	for (;;) {
		enum ina_status status;

		deadline_ms += join_ms;
		if (asks && failure->status == INA_OK)
			ina_comm_find_places(comm, deadline_ms, failure);
		/*
		 * Agree on this before any JOIN; otherwise a vote on the JOIN could end another
		 * rank's wait for the positions of all ranks.
		 */
		if (ina_agree_on(&comm->control, "", "learn where the ranks are", false, &nothing,
		                 deadline_ms, failure) != INA_OK)
			return failure->status;
		deadline_ms += join_ms;
		status = join(comm, asks, deadline_ms, own, grant, failure);
		if (status != INA_OK || grant->further == 0 || comm->settings.keeps_tree)
			return status;
		deadline_ms += join_ms;
		ina_comm_make_way(comm, grant->further, deadline_ms, failure);
	}
}

enum ina_status ina_comm_connect_flat(struct ina_comm *comm, const struct ina_met *met,
                                      struct ina_failure *failure)
{
	const struct ina_options *options = &comm->settings.options;
	const int64_t deadline_ms = comm->settings.deadline_ms;
	struct ina_network *network = &comm->network;
	struct ina_stats *stats = &comm->stats;
	uint32_t value;
	bool asks = !network->plain && options->algorithm != INA_ALGORITHM_RING;
	struct grant grant = {0, 0};
	enum join_end own = JOIN_NONE;
	enum ina_status status;

	if (met->listener >= 0)
		close(met->listener);
	/*
	 * From here on every failure goes into an agreement, so that no rank waits without reason.
	 */
	status = ina_transport_connect(&network->transport, &comm->control, &met->roster,
	                               deadline_ms, failure);
	value = network->transport.path_mtu;
	network->apart.turn = &comm->turn;
	if (status == INA_OK)
		status = ina_network_open(network, &comm->control, &comm->settings,
		                          met->roster.job_id, failure);
	if (status == INA_OK && asks && ina_trace_fits(network))
		ina_lookout_expect(&network->lookout);
	status = ina_agree_on(&comm->control, "path MTU", "connect to its neighbours", true, &value,
	                      deadline_ms, failure);
	if (status != INA_OK)
		return status;

	status = join_a_tree(comm, asks, deadline_ms, &own, &grant, failure);
	if (status != INA_OK)
		return status;
	if (grant.packets != 0)
		ina_network_take_grant(network, grant.packets);
	stats->path_mtu = network->transport.path_mtu;
	snprintf(stats->device, sizeof(stats->device), "%s", network->transport.device);
	return choose_algorithm(comm, grant.packets != 0, own, failure);
}
