/* SPDX-License-Identifier: Apache-2.0 */
/* Completions: taken from the queue, given to the algorithm that they belong to, waited for. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "common/deadline.h"
#include "comm.h"

#define BATCH 16

static const char *work_name(enum ina_work work, bool *outward)
{
	*outward = work == INA_WORK_WINDOW_SEND || work == INA_WORK_RING_SEND ||
	           work == INA_WORK_CREDIT_RECEIVE;
	return work == INA_WORK_WINDOW_SEND || work == INA_WORK_WINDOW_RECEIVE ? "aggregation"
	                                                                       : "ring";
}

static bool work_is_window(const struct ibv_wc *wc)
{
	enum ina_work work = (enum ina_work)(wc->wr_id >> 32);

	return work == INA_WORK_WINDOW_SEND || work == INA_WORK_WINDOW_RECEIVE;
}

static enum ina_status explain(const struct ina_comm *comm, const struct ibv_wc *wc,
                               struct ina_failure *failure)
{
	bool outward;
	const char *name = work_name((enum ina_work)(wc->wr_id >> 32), &outward);
	int neighbour = outward ? ina_successor(comm->rank, comm->ranks)
	                        : ina_predecessor(comm->rank, comm->ranks);

	/* A message that is longer than the receive: rdma_rxe says REM_INV_REQ on both sides. */
	if (wc->status == IBV_WC_LOC_LEN_ERR || wc->status == IBV_WC_REM_INV_REQ_ERR)
		return ina_fail(
		        failure, INA_ERR_MISMATCH,
		        "a message on the %s connection %s rank %d is longer than its receiver "
		        "expects",
		        name, outward ? "to" : "from", neighbour);
	/* The ring can do without the other connection. */
	return ina_fail(failure, work_is_window(wc) ? INA_ERR_AGGREGATOR : INA_ERR_DEVICE,
	                "the %s connection %s rank %d failed: %s (vendor 0x%x)", name,
	                outward ? "to" : "from", neighbour, ibv_wc_status_str(wc->status),
	                wc->vendor_err);
}

static enum ina_status take(struct ina_comm *comm, const struct ibv_wc *wc,
                            struct ina_failure *failure)
{
	enum ina_work work = (enum ina_work)(wc->wr_id >> 32);

	if (work_is_window(wc) && (uint32_t)wc->wr_id != comm->window.connection.epoch)
		return INA_OK; /* a connection that is no more */
	if (work_is_window(wc) && !ina_innet_is_busy(&comm->window)) {
		if (work == INA_WORK_WINDOW_SEND)
			ina_innet_sent(&comm->window);
		return INA_OK; /* of a transfer that is done, or an abandoned JOIN or LEAVE */
	}
	if (wc->status != IBV_WC_SUCCESS)
		return explain(comm, wc, failure);
	switch (work) {
	case INA_WORK_WINDOW_SEND:
		ina_innet_sent(&comm->window);
		return INA_OK;
	case INA_WORK_WINDOW_RECEIVE:
		return ina_innet_received(&comm->window, wc->byte_len, failure);
	case INA_WORK_RING_SEND:
		ina_ring_sent(&comm->ring);
		return INA_OK;
	case INA_WORK_RING_RECEIVE:
		return ina_ring_received(&comm->ring, wc->byte_len, failure);
	case INA_WORK_CREDIT_SEND:
		ina_ring_credit_sent(&comm->ring);
		return INA_OK;
	case INA_WORK_CREDIT_RECEIVE:
		return ina_ring_credited(&comm->ring, ntohl(wc->imm_data), failure);
	}
	return ina_fail(failure, INA_ERR_DEVICE, "%s: a completion of nothing",
	                comm->fabric.device);
}

enum ina_status ina_progress_poll(struct ina_comm *comm, int *count, struct ina_failure *failure)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(comm->fabric.cq, BATCH, wc);

	*count = 0;
	if (n < 0)
		return ina_fail(failure, INA_ERR_DEVICE, "%s: the completion queue failed",
		                comm->fabric.device);
	for (int i = 0; i < n; i++) {
		enum ina_status status = take(comm, &wc[i], failure);

		if (status != INA_OK)
			return status;
	}
	*count = n;
	comm->last_completions = n;
	return INA_OK;
}

/* Takes the event off the channel; acknowledging costs a lock, so it is done in lots. */
static void take_channel_event(struct ina_fabric *fabric)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(fabric->channel, &cq, &context) != 0)
		return;
	fabric->told = INA_TELL_NOTHING;
	if (++fabric->unacknowledged_events == 1024) {
		ibv_ack_cq_events(fabric->cq, fabric->unacknowledged_events);
		fabric->unacknowledged_events = 0;
	}
}

void ina_progress_arm(struct ina_comm *comm)
{
	take_channel_event(&comm->fabric);
	/* Where this fails, so does the next wait, and says so; until then there is the timer. */
	if (ibv_req_notify_cq(comm->fabric.cq, 0) == 0)
		comm->fabric.told = INA_TELL_ALL;
}

/* Nothing can go on but by a message that comes: an acknowledgement is no reason to wake up. */
static bool awaits_message(const struct ina_comm *comm)
{
	if (comm->phase != INA_STEADY || !comm->first || !comm->first->active)
		return false;
	return comm->aggregated ? ina_innet_awaits_message(&comm->window)
	                        : ina_ring_awaits_message(&comm->ring);
}

/* Armed first, looked at once more, then asleep: nothing can slip in between. */
static enum ina_status arm_and_look(struct ina_comm *comm, int *count, struct ina_failure *failure)
{
	struct ina_fabric *fabric = &comm->fabric;
	bool messages = awaits_message(comm);

	*count = 0;
	if (fabric->told == INA_TELL_ALL || (messages && fabric->told == INA_TELL_MESSAGES))
		return INA_OK;
	if (ibv_req_notify_cq(fabric->cq, messages) != 0)
		return ina_fail(failure, INA_ERR_DEVICE, "%s: no notification of completions",
		                fabric->device);
	fabric->told = messages ? INA_TELL_MESSAGES : INA_TELL_ALL;
	return ina_progress_poll(comm, count, failure);
}

enum ina_status ina_progress_look(struct ina_comm *comm, int *count, struct ina_failure *failure)
{
	enum ina_status status = INA_OK;

	*count = 0;
	for (unsigned int i = 0;
	     i <= comm->settings.options.poll_count && status == INA_OK && *count == 0; i++)
		status = ina_progress_poll(comm, count, failure);
	if (status != INA_OK || *count > 0)
		return status;
	return arm_and_look(comm, count, failure);
}

/* Waits for one of the descriptors. *event: the completion channel's has told of something. */
static enum ina_status wait_for_any(struct ina_comm *comm, int timeout_ms, bool *event,
                                    struct ina_failure *failure)
{
	struct pollfd fds[INA_MAX_RANKS + 2];
	int links;
	int others;

	fds[0] = (struct pollfd){.fd = comm->fabric.channel->fd, .events = POLLIN};
	links = ina_control_pollfds(&comm->control, fds + 1);
	others = links + 1;
	if (comm->phase == INA_REJOINING)
		fds[others++] = (struct pollfd){.fd = comm->fabric.events->fd, .events = POLLIN};
	if (poll(fds, (nfds_t)others, timeout_ms) < 0 && errno != EINTR)
		return ina_fail(failure, INA_ERR_SYSTEM, "poll: %s", strerror(errno));
	*event = fds[0].revents != 0;
	if (*event)
		take_channel_event(&comm->fabric);
	for (int i = 1; i < others; i++) {
		if (!fds[i].revents)
			continue;
		*event = false;
		if (i <= links) {
			ina_control_pump(&comm->control, 0);
			break;
		}
	}
	return INA_OK;
}

enum ina_status ina_progress_sleep(struct ina_comm *comm, int timeout_ms, int *count,
                                   struct ina_failure *failure)
{
	bool event = true;
	enum ina_status status = INA_OK;

	*count = 0;
	/* An event may be of what has been taken since: that is no reason to wake anybody. */
	while (event && status == INA_OK && *count == 0) {
		status = arm_and_look(comm, count, failure);
		if (status != INA_OK || *count > 0)
			break;
		status = wait_for_any(comm, timeout_ms, &event, failure);
		if (status == INA_OK)
			status = ina_progress_poll(comm, count, failure);
	}
	return status;
}

enum ina_status ina_progress_wait(struct ina_comm *comm, int timeout_ms, int *count,
                                  struct ina_failure *failure)
{
	enum ina_status status = ina_progress_look(comm, count, failure);

	if (status != INA_OK || *count > 0)
		return status;
	return ina_progress_sleep(comm, timeout_ms, count, failure);
}
