/* SPDX-License-Identifier: Apache-2.0 */
/* A communicator's life: bootstrap, connections, JOIN; and LEAVE, and the end. */
#include "hostlib/engine/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/deadline.h"
#include "hostlib/options/log.h"
#include "hostlib/bootstrap/mesh.h"
#include "hostlib/machine/parallel.h"

#define LEAVE_TIMEOUT_MS 5000

/* For a last message to leave the host before its queue pair is stopped. */
#define PARTING_MS 20

static const struct ina_transfer NOTHING;

enum ina_status ina_comm_agree(struct ina_comm *comm, const char *what, const char *doing,
                               bool must_equal, uint32_t *value, int64_t deadline_ms,
                               struct ina_failure *failure)
{
	struct ina_failure own = *failure;
	const struct ina_vote vote = {
	        .what = what,
	        .doing = doing,
	        .must_equal = must_equal,
	        .value = *value,
	        .failed = &own,
	};

	failure->status = INA_OK;
	ina_agree(&comm->control, &vote, deadline_ms, value, failure);
	return failure->status;
}

static void make_lanes(struct ina_comm *comm)
{
	const struct ina_options *options = &comm->settings.options;
	struct ina_connection *connections = comm->fabric.connections;
	struct ina_slot *slots = comm->memory.slab;
	uint32_t window = options->window;
	uint32_t receives = comm->settings.receives;
	struct ina_connection_context connection = {
	        .lkey = comm->memory.slab_mr->lkey,
	        .window = window,
	        .limit_bytes = options->message_bytes - (uint32_t)INA_MESSAGE_FRAMING,
	        .rank = comm->rank,
	        .ranks = comm->ranks,
	        /*
	         * Only one of the algorithms is at work at a time: they share it. The sums that
	         * the window keeps are in the spare when the ring takes over.
	         */
	        .staging = (uint8_t *)(slots + 4 * window + receives),
	        .context = {.job_id = comm->job_id,
	                    .rank_count = (uint16_t)comm->ranks,
	                    .rank = (uint32_t)comm->rank},
	};

	connection.tx = connections[INA_PURPOSE_AGGREGATE].tx->qp;
	connection.rx = connections[INA_PURPOSE_AGGREGATE].rx->qp;
	connection.tx_slots = slots;
	connection.rx_slots = slots + 4 * window;
	comm->window.connection = connection;
	comm->window.receives = receives;
	comm->window.keeps = !comm->plain;
	comm->window.contributors_due = comm->plain ? 1 : (uint32_t)comm->ranks;
	comm->window.rank_due = comm->plain ? (uint32_t)ina_predecessor(comm->rank, comm->ranks)
	                                    : (uint32_t)comm->ranks - 1;
	connection.tx = connections[INA_PURPOSE_RING].tx->qp;
	connection.rx = connections[INA_PURPOSE_RING].rx->qp;
	connection.tx_slots = slots + window;
	connection.rx_slots = slots + 2 * window;
	comm->ring.connection = connection;
	comm->spare = connection.staging + 2 * (size_t)window * connection.limit_bytes;
	comm->window.integers = connection.staging + 3 * (size_t)window * options->message_bytes;
}

static enum ina_status prepare(struct ina_comm *comm, struct ina_failure *failure)
{
	struct ina_options *options = &comm->settings.options;
	size_t pieces = options->fixed_point ? 4 : 3; /* of memory, each of a window's elements */
	enum ina_status status = ina_settings_fit(&comm->settings, comm->fabric.path_mtu,
	                                          &comm->window_packets, failure);

	if (status != INA_OK)
		return status;
	status = ina_memory_open(
	        &comm->memory, comm->fabric.pd,
	        options->window * (4 * sizeof(struct ina_slot) + pieces * options->message_bytes) +
	                comm->settings.receives * sizeof(struct ina_slot),
	        options->cache_entries, failure);
	if (status != INA_OK)
		return status;
	make_lanes(comm);
	return ina_ring_open(&comm->ring, failure);
}

/* Runs a JOIN or a LEAVE. Returns whether it came back as a sum of all ranks. */
static bool run_empty(struct ina_comm *comm, enum ina_wire_type type, int32_t exponent,
                      int timeout_ms)
{
	int64_t deadline_ms = ina_now_ms() + timeout_ms;
	struct ina_failure failure;
	bool fine;

	ina_innet_start(&comm->window, type, exponent, &NOTHING);
	fine = ina_innet_advance(&comm->window, &failure) == INA_OK;
	while (fine && !ina_innet_done(&comm->window) && ina_now_ms() < deadline_ms) {
		int count;

		fine = ina_progress_wait(comm, ina_left_ms(deadline_ms, INA_STALL_MS), &count,
		                         &failure) == INA_OK &&
		       ina_innet_advance(&comm->window, &failure) == INA_OK;
	}
	fine = fine && ina_innet_done(&comm->window) &&
	       comm->window.contributors == (uint32_t)comm->ranks;
	ina_innet_stop(&comm->window);
	return fine;
}

/* Why a JOIN was not joined, or what there is instead, for the log. */
static void explain_how(struct ina_comm *comm, bool own_joined)
{
	const struct ina_options *options = &comm->settings.options;
	const struct ina_innet *window = &comm->window;
	char *how = comm->how;

	if (comm->plain)
		snprintf(how, sizeof(comm->how), "plainly to the successor");
	else if (comm->aggregated)
		snprintf(how, sizeof(comm->how), "aggregated");
	else if (options->algorithm == INA_ALGORITHM_RING)
		snprintf(how, sizeof(comm->how), "by ring, as asked for");
	else if (own_joined)
		snprintf(how, sizeof(comm->how), "by ring: another rank's JOIN was not joined");
	else if (window->received > 0)
		snprintf(how, sizeof(comm->how),
		         "by ring: no aggregator, or it refused (%u of %d joined)",
		         window->contributors, comm->ranks);
	else
		snprintf(how, sizeof(comm->how), "by ring: no JOIN came back within %d ms",
		         options->join_timeout_ms);
}

/* After the ranks have agreed that their JOINs were joined, or not. */
static enum ina_status choose_algorithm(struct ina_comm *comm, bool joined, bool own_joined,
                                        struct ina_failure *failure)
{
	const struct ina_options *options = &comm->settings.options;

	comm->aggregated = joined || comm->plain;
	explain_how(comm, own_joined);
	if (comm->aggregated || options->algorithm == INA_ALGORITHM_RING)
		return INA_OK;
	ina_innet_abandon(&comm->window);
	if (options->algorithm == INA_ALGORITHM_AUTO) {
		ina_rejoin_later(comm);
		return INA_OK;
	}
	poll(NULL, 0, PARTING_MS);
	return ina_fail(
	        failure, INA_ERR_AGGREGATOR,
	        "no aggregator joined the %d ranks within %d ms; with algorithm auto the ring "
	        "would be used",
	        comm->ranks, options->join_timeout_ms);
}

/* Flat: connections round the ring of all ranks, memory, and a JOIN. */
static enum ina_status connect_all(struct ina_comm *comm, const struct ina_roster *roster,
                                   int64_t deadline_ms, struct ina_failure *failure)
{
	const struct ina_options *options = &comm->settings.options;
	uint32_t value;
	bool joined;
	enum ina_status status;

	/* From here on every failure goes into an agreement, so that no rank waits in vain. */
	ina_fabric_connect(&comm->fabric, &comm->control, roster, deadline_ms, failure);
	value = comm->fabric.path_mtu;
	status = ina_comm_agree(comm, "path MTU", "connect to its neighbours", true, &value,
	                        deadline_ms, failure);
	if (status != INA_OK)
		return status;

	status = prepare(comm, failure);
	joined = status == INA_OK && !comm->plain && options->algorithm != INA_ALGORITHM_RING &&
	         run_empty(comm, INA_WIRE_JOIN, (int32_t)comm->window_packets,
	                   options->join_timeout_ms);
	value = joined;
	status = ina_comm_agree(comm, "", "answer the aggregator's JOIN", false, &value,
	                        deadline_ms + options->join_timeout_ms, failure);
	if (status == INA_OK)
		status = choose_algorithm(comm, value != 0, joined, failure);
	if (status != INA_OK)
		return status;
	comm->stats.algorithm = comm->aggregated ? INA_ALGORITHM_INA : INA_ALGORITHM_RING;
	comm->stats.path_mtu = comm->fabric.path_mtu;
	comm->stats.message_bytes = comm->settings.options.message_bytes;
	comm->stats.window = comm->settings.options.window;
	snprintf(comm->stats.device, sizeof(comm->stats.device), "%s", comm->fabric.device);
	return INA_OK;
}

static void find_machines(struct ina_comm *comm, const struct ina_roster *roster,
                          struct ina_topology *topology)
{
	uint64_t hosts[INA_MAX_RANKS];

	for (int r = 0; r < comm->ranks; r++)
		hosts[r] = roster->endpoints[r].host;
	ina_topology_make(topology, hosts, comm->ranks, comm->rank,
	                  comm->settings.options.schedule);
	comm->stats.machines = (unsigned int)topology->machines;
	comm->stats.local_ranks = (unsigned int)topology->locals;
}

/* Every rank to every other one, so that all notice by themselves who is gone. */
static enum ina_status connect_mesh(struct ina_comm *comm, const struct ina_roster *roster,
                                    int listener, int64_t deadline_ms, struct ina_failure *failure)
{
	uint32_t nothing = 0;

	ina_mesh_connect(&comm->control, roster, listener, comm->settings.options.peer_timeout_ms,
	                 deadline_ms, failure);
	return ina_comm_agree(comm, "", "connect to all others over TCP", false, &nothing,
	                      deadline_ms, failure);
}

/* The ranks meet, and find out who is on whose machine; flat, or on rails, they connect. */
static enum ina_status meet(struct ina_comm *comm, struct ina_failure *failure)
{
	int64_t deadline_ms = ina_now_ms() + comm->settings.options.open_timeout_ms;
	struct ina_endpoint *local = &comm->fabric.local;
	struct ina_topology topology;
	struct ina_roster roster;
	int listener = -1;
	enum ina_status status = ina_control_init(&comm->control, comm->rank, comm->ranks, failure);

	if (status == INA_OK)
		status = ina_fabric_open(&comm->fabric, &comm->settings, failure);
	if (status == INA_OK && comm->settings.options.schedule != INA_SCHEDULE_FLAT)
		status = ina_topology_identity(&local->host, failure);
	if (status == INA_OK && !comm->is_rail)
		status = ina_mesh_listen(&listener, &local->tcp_port, failure);
	if (status == INA_OK)
		status = ina_bootstrap(&comm->control, &comm->settings, local, deadline_ms, &roster,
		                       failure);
	if (status == INA_OK && !comm->is_rail)
		status = connect_mesh(comm, &roster, listener, deadline_ms, failure);
	if (status == INA_OK) {
		comm->job_id = roster.job_id;
		find_machines(comm, &roster, &topology);
		if (topology.rails > 0)
			return ina_parallel_open(comm, &topology, &roster, listener, failure);
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
	if (comm->plain)
		comm->settings.receives *= (unsigned int)comm->ranks;
	if (comm->ranks == 1 && comm->rank != 0)
		return ina_fail(failure, INA_ERR_ARGUMENT, "rank %d of 1: the only rank is 0",
		                comm->rank);
	status = ina_log_open(comm, failure);
	if (status != INA_OK)
		return status;
	if (comm->plain)
		comm->settings.options.schedule = INA_SCHEDULE_FLAT;
	comm->stats.machines = comm->stats.local_ranks = 1;
	if (comm->ranks > 1)
		status = meet(comm, failure);
	else
		comm->stats.algorithm = INA_ALGORITHM_RING;
	if (status == INA_OK && !comm->parallel)
		ina_log_opened(comm);
	return status;
}

/* All ranks have called ina_close(): the flows end, and nobody goes before all have. */
static enum ina_status part(struct ina_comm *comm, struct ina_failure *failure)
{
	const struct ina_options *options = &comm->settings.options;
	struct ina_failure none = {INA_OK, ""};
	uint32_t value = 0;
	const struct ina_vote vote = {
	        .what = "",
	        .doing = "call ina_close",
	        .call = comm->current,
	        .failed = &none,
	};

	for (;;) {
		enum ina_agreement agreement = ina_agree(
		        &comm->control, &vote, ina_now_ms() + options->timeout_ms, &value, failure);

		if (agreement == INA_AGREED)
			break;
		if (agreement != INA_DISTURBED)
			return failure->status;
		/* A rank may need this one's help to get its last sums; then this agreement again.
		 */
		ina_comm_fault(comm, NULL);
		while (comm->phase != INA_STEADY)
			ina_comm_mend(comm, INA_STALL_MS);
		if (comm->failure.status != INA_OK) {
			*failure = comm->failure;
			return failure->status;
		}
		comm->control.phase--;
	}
	if (comm->aggregated && !comm->plain)
		run_empty(comm, INA_WIRE_LEAVE, 0, LEAVE_TIMEOUT_MS);
	*failure = none;
	return ina_comm_agree(comm, "", "leave", false, &value, ina_now_ms() + 2 * LEAVE_TIMEOUT_MS,
	                      failure);
}

static void free_requests(struct ina_request *first)
{
	while (first) {
		struct ina_request *next = first->next;

		free(first);
		first = next;
	}
}

enum ina_status ina_comm_close(struct ina_comm *comm, struct ina_failure *failure)
{
	failure->status = INA_OK;
	if (comm->parallel)
		ina_parallel_close(comm, failure);
	else if (comm->failure.status == INA_OK && comm->ranks > 1 && comm->memory.slab_mr &&
	         comm->stats.algorithm != INA_ALGORITHM_AUTO) {
		comm->previous = comm->current;
		comm->current = (struct ina_call){
		        .kind = INA_CALL_CLOSE,
		        .number = comm->previous.number,
		};
		part(comm, failure);
	}
	/* Where it failed before, that was said, or its own end without a word says it. */
	if (comm->failure.status == INA_OK && comm->control.peers)
		ina_control_farewell(&comm->control, failure);
	ina_pollset_close(&comm->pollset);
	ina_fabric_disconnect(&comm->fabric);
	ina_memory_close(&comm->memory);
	ina_fabric_close(&comm->fabric);
	ina_control_close(&comm->control);
	free_requests(comm->first);
	free_requests(comm->spare_requests);
	return failure->status;
}
