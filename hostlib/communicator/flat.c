/* SPDX-License-Identifier: Apache-2.0 */
/* Connects a flat communicator, chooses its tree, and JOINs. */
#include "flat.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/deadline.h"
#include "hostlib/rdma/device.h"

/* The longest wait, so that this rank notices the silence of others. */
#define TICK_MS 200

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
static void explain_how(struct ina_comm *comm, bool aggregated)
{
	const enum ina_join_end own = comm->recovery.rejoin.join.end;
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
	else if (own == INA_JOIN_JOINED ||
	         (own == INA_JOIN_STOPPED && innet->contributors == (uint32_t)comm->ranks))
		snprintf(how, size, OVER_RING "the aggregator did not join another rank's JOIN");
	else if (own == INA_JOIN_STOPPED && innet->received == 0)
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
static enum ina_status choose_algorithm(struct ina_comm *comm, bool joined,
                                        struct ina_failure *failure)
{
	const struct ina_options *options = &comm->settings.options;
	struct ina_network *network = &comm->network;
	bool aggregated = joined || network->plain;

	explain_how(comm, aggregated);
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
		if (comm->recovery.rejoin.join.end != INA_JOIN_NONE)
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

/*
 * Waits for an event of the stage. While the ranks agree, only frames of the control channel count.
 */
static void wait(struct ina_comm *comm, struct ina_join *join)
{
	struct ina_failure own;
	int left_ms;
	int count;

	if (ina_is_stopped(comm->control.stop, &own))
		join->deadline_ms = 0;
	left_ms = ina_left_ms(join->deadline_ms, TICK_MS);
	left_ms = left_ms > 0 ? left_ms : 1;
	if (join->votes)
		ina_control_pump(&comm->control, left_ms);
	else if (ina_completions_wait(&comm->network.completions, left_ms, &count, &own) != INA_OK)
		ina_join_lose(join, &own);
}

/* Names the rank with the smallest MTU, if others could send larger packets. */
static void log_mtu(struct ina_comm *comm, const struct ina_roster *roster)
{
	const struct ina_endpoint *ends = roster->endpoints;
	char address[INET_ADDRSTRLEN];
	unsigned int most = 0;
	int least = 0;
	int below = 0;

	for (int r = 0; r < comm->ranks; r++) {
		unsigned int path_mtu = ina_path_mtu(ends[r].mtu);

		most = path_mtu > most ? path_mtu : most;
		least = ends[r].mtu < ends[least].mtu ? r : least;
	}
	for (int r = 0; r < comm->ranks; r++)
		below += ina_path_mtu(ends[r].mtu) < most;
	if (below > 0)
		ina_log(&comm->log,
		        "all ranks use path MTU %u: the network interface of rank %d, at %s, has "
		        "MTU %u; %d of %d ranks have less than the largest path MTU, %u",
		        ina_path_mtu(ends[least].mtu), least,
		        address_text(ends[least].address, address), ends[least].mtu, below,
		        comm->ranks, most);
}

enum ina_status ina_comm_connect_flat(struct ina_comm *comm, const struct ina_met *met,
                                      struct ina_failure *failure)
{
	struct ina_network *network = &comm->network;
	struct ina_join *join = &comm->recovery.rejoin.join;
	struct ina_stats *stats = &comm->stats;
	enum ina_join_result result;
	enum ina_status status;

	if (met->listener >= 0)
		close(met->listener);
	status = ina_transport_connect(&network->transport, &comm->control, &met->roster,
	                               comm->settings.deadline_ms, failure);
	log_mtu(comm, &met->roster);
	network->apart.turn = &comm->turn;
	if (status == INA_OK)
		ina_network_open(network, &comm->control, &comm->settings, met->roster.job_id,
		                 failure);
	stats->path_mtu = network->transport.path_mtu;
	snprintf(stats->device, sizeof(stats->device), "%s", network->transport.device);
	/*
	 * From here on every failure goes into an agreement, so that no rank waits without reason.
	 */
	ina_join_open(join, &comm->recovery.context, failure, comm->settings.deadline_ms);
	while ((result = ina_join_step(join, failure)) == INA_JOIN_UNDER_WAY)
		wait(comm, join);
	if (result == INA_JOIN_ENDED)
		return failure->status;
	failure->status = INA_OK; /* that of a JOIN that was refused */
	return choose_algorithm(comm, result == INA_JOIN_GRANTED, failure);
}
