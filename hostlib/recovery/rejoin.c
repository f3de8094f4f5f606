/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To the aggregator, again or at last: fresh connections, for a flow is learned from a JOIN alone
 * and a connection has one, and a fresh job id, for the old job may still be known as broken.
 *
 * Rank 0 wishes for it by a flag in the messages of a ring all-reduce, so that all ranks know at
 * its end, and try it before the next one.
 */
#include "common/deadline.h"
#include "hostlib/engine/comm.h"
#include "hostlib/options/log.h"

/* Between attempts: longer each time that one fails, or does not last. */
#define PAUSE_FIRST_MS   250
#define PAUSE_REFUSED_MS 1000 /* the first one, where no aggregator has ever joined the job */
#define PAUSE_LAST_MS    30000

static const struct ina_transfer NOTHING;

static struct ina_failure none(void)
{
	return (struct ina_failure){INA_OK, ""};
}

bool ina_rejoin_wished(const struct ina_comm *comm)
{
	return comm->rank == 0 && !comm->aggregated &&
	       comm->settings.options.algorithm == INA_ALGORITHM_AUTO &&
	       ina_now_ms() >= comm->rejoin.next_ms;
}

void ina_rejoin_later(struct ina_comm *comm)
{
	struct ina_rejoin *rejoin = &comm->rejoin;
	int64_t now_ms = ina_now_ms();

	if (rejoin->pause_ms == 0 ||
	    (rejoin->granted_ms > 0 && now_ms - rejoin->granted_ms > 2 * PAUSE_LAST_MS))
		rejoin->pause_ms = comm->stats.fallbacks > 0 ? PAUSE_FIRST_MS : PAUSE_REFUSED_MS;
	else
		rejoin->pause_ms =
		        rejoin->pause_ms < PAUSE_LAST_MS / 2 ? 2 * rejoin->pause_ms : PAUSE_LAST_MS;
	rejoin->next_ms = now_ms + rejoin->pause_ms;
}

/* An agreement of all ranks follows: did this rank get there? */
static void vote(struct ina_comm *comm, enum ina_rejoin_stage stage, bool fine)
{
	struct ina_failure failed = none();
	const struct ina_vote brought = {
	        .what = "", .value = fine, .call = comm->current, .failed = &failed};

	comm->rejoin.stage = stage;
	comm->rejoin.vote = fine;
	ina_agree_begin(&comm->control, &brought);
}

/* INA_AGREED: *all says whether every rank got there. */
static enum ina_agreement poll_votes(struct ina_comm *comm, bool *all, struct ina_failure *failure)
{
	struct ina_failure failed = none();
	const struct ina_vote brought = {.what = "",
	                                 .doing = "come to JOIN the aggregator again",
	                                 .value = comm->rejoin.vote,
	                                 .call = comm->current,
	                                 .failed = &failed};
	uint32_t minimum = 0;
	enum ina_agreement agreement =
	        ina_agree_poll(&comm->control, &brought, comm->deadline_ms, &minimum, failure);

	*all = minimum != 0;
	return agreement;
}

/* The same on all ranks, and nothing that a stranger who saw no frame can guess (SplitMix64). */
static uint64_t next_job_id(uint64_t id)
{
	id += 0x9E3779B97F4A7C15u;
	id = (id ^ id >> 30) * 0xBF58476D1CE4E5B9u;
	id = (id ^ id >> 27) * 0x94D049BB133111EBu;
	return id ^ id >> 31;
}

static void drop_connection(struct ina_comm *comm)
{
	ina_innet_stop(&comm->window);
	ina_fabric_drop(&comm->fabric, INA_PURPOSE_AGGREGATE);
	comm->window.connection.epoch++;
}

void ina_rejoin_begin(struct ina_comm *comm)
{
	/* A connection that is still there is one whose JOIN was not joined. */
	drop_connection(comm);
	comm->rejoin.due = false;
	comm->fabric.job_id = next_job_id(comm->fabric.job_id);
	comm->phase = INA_REJOINING;
	vote(comm, INA_REJOIN_GATHER, true);
}

/* Settled, one way or the other: the all-reduce that has waited begins. */
static enum ina_status end(struct ina_comm *comm, bool joined, struct ina_failure *failure)
{
	int64_t now_ms = ina_now_ms();

	comm->phase = INA_STEADY;
	comm->aggregated = joined;
	comm->control.news = true;
	comm->progressed_ms = now_ms;
	ina_log(comm, "%s, before all-reduce %llu",
	        !joined                      ? "by ring still: no JOIN was granted"
	        : comm->stats.fallbacks == 0 ? "aggregated at last"
	                                     : "aggregated again",
	        (unsigned long long)comm->current.number);
	if (joined) {
		comm->rejoin.granted_ms = now_ms;
		comm->stats.rejoins++;
		comm->stats.algorithm = INA_ALGORITHM_INA;
	} else {
		drop_connection(comm);
		ina_rejoin_later(comm);
	}
	return ina_collective_transfer(comm, failure);
}

static void start_connecting(struct ina_comm *comm)
{
	struct ina_failure ignored;

	comm->rejoin.stage = INA_REJOIN_CONNECT;
	comm->rejoin.deadline_ms = ina_now_ms() + comm->settings.options.join_timeout_ms;
	if (ina_fabric_begin(&comm->fabric, INA_PURPOSE_AGGREGATE, &ignored) != INA_OK)
		vote(comm, INA_REJOIN_COUNT, false);
}

static void go_on_connecting(struct ina_comm *comm)
{
	struct ina_failure ignored;
	bool ready;

	if (ina_fabric_step(&comm->fabric, &ready, &ignored) != INA_OK ||
	    (!ready && ina_now_ms() >= comm->rejoin.deadline_ms))
		vote(comm, INA_REJOIN_COUNT, false);
	else if (ready)
		vote(comm, INA_REJOIN_COUNT, comm->fabric.path_mtu == comm->stats.path_mtu);
}

static void send_join(struct ina_comm *comm)
{
	const struct ina_connection *connection = &comm->fabric.connections[INA_PURPOSE_AGGREGATE];
	struct ina_innet *window = &comm->window;
	struct ina_failure ignored;

	window->connection.tx = connection->tx->qp;
	window->connection.rx = connection->rx->qp;
	window->connection.context.job_id = comm->fabric.job_id;
	ina_innet_reset(window);
	comm->rejoin.stage = INA_REJOIN_JOIN;
	comm->rejoin.deadline_ms = ina_now_ms() + comm->settings.options.join_timeout_ms;
	ina_innet_start(window, INA_WIRE_JOIN, (int32_t)comm->window_packets, &NOTHING);
	if (ina_innet_advance(window, &ignored) != INA_OK)
		vote(comm, INA_REJOIN_JUDGE, false);
}

static void await_join(struct ina_comm *comm)
{
	struct ina_innet *window = &comm->window;
	struct ina_failure ignored;
	bool fine = ina_innet_advance(window, &ignored) == INA_OK;

	if (fine && !ina_innet_done(window) && ina_now_ms() < comm->rejoin.deadline_ms)
		return;
	fine = fine && ina_innet_done(window) && window->contributors == (uint32_t)comm->ranks;
	ina_innet_stop(window);
	vote(comm, INA_REJOIN_JUDGE, fine);
}

static enum ina_status count_votes(struct ina_comm *comm, struct ina_failure *failure)
{
	bool all;

	switch (poll_votes(comm, &all, failure)) {
	case INA_PENDING:
		return INA_OK;
	case INA_NOT_AGREED:
		return failure->status;
	case INA_DISTURBED:
		ina_comm_fault(comm, NULL);
		return INA_OK;
	case INA_AGREED:
		break;
	}
	if (comm->rejoin.stage == INA_REJOIN_JUDGE && !all)
		ina_innet_abandon(&comm->window);
	if (comm->rejoin.stage == INA_REJOIN_JUDGE || !all)
		return end(comm, all, failure);
	if (comm->rejoin.stage == INA_REJOIN_GATHER)
		start_connecting(comm);
	else
		send_join(comm);
	return INA_OK;
}

enum ina_status ina_rejoin_step(struct ina_comm *comm, struct ina_failure *failure)
{
	if (comm->rejoin.stage == INA_REJOIN_CONNECT)
		go_on_connecting(comm);
	else if (comm->rejoin.stage == INA_REJOIN_JOIN)
		await_join(comm);
	else
		return count_votes(comm, failure);
	return INA_OK;
}
