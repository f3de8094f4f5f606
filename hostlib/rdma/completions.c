/* SPDX-License-Identifier: Apache-2.0 */
/* Polls the completion queue and waits for completions. */
#include "completions.h"

#include <errno.h>
#include <string.h>

#include "hostlib/control/telling.h"

#define BATCH 16

enum ina_status ina_completions_poll(const struct ina_completions *completions, int *count,
                                     struct ina_failure *failure)
{
	struct ina_transport *transport = completions->transport;
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(transport->cq, BATCH, wc);
	enum ina_status worst = INA_OK;

	*count = 0;
	if (n < 0)
		return ina_fail(failure, INA_ERR_DEVICE, "%s: the completion queue failed",
		                transport->device);
	if (n == 0)
		ina_queue_pairs_flush(&transport->pairs);
	/* Pass on all of them: some may belong to a connection that stays in use. */
	for (int i = 0; i < n; i++) {
		struct ina_failure own;
		enum ina_status status;

		if (ina_queue_pairs_take(&transport->pairs, &wc[i]))
			continue;
		++*count;
		status = completions->take(completions->context, &wc[i], &own);
		if (status == INA_OK || (worst != INA_OK && worst != INA_ERR_AGGREGATOR))
			continue;
		/*
		 * A rank can continue without the aggregator, so any other error takes precedence.
		 */
		if (worst == INA_OK || status != INA_ERR_AGGREGATOR)
			*failure = own;
		worst = failure->status;
	}
	/* The caller may sleep only if the queue is empty. */
	return n == BATCH && *count == 0 ? ina_completions_poll(completions, count, failure)
	                                 : worst;
}

/*
 * Takes an event from the channel. An acknowledgement takes a lock, so 1024 events are acknowledged
 * together.
 */
static void take_channel_event(struct ina_transport *transport)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(transport->channel, &cq, &context) != 0)
		return;
	transport->told = INA_TELL_NOTHING;
	if (++transport->unacknowledged_events == 1024) {
		ibv_ack_cq_events(transport->cq, transport->unacknowledged_events);
		transport->unacknowledged_events = 0;
	}
}

void ina_completions_arm(const struct ina_completions *completions)
{
	struct ina_transport *transport = completions->transport;

	take_channel_event(transport);
	/*
	 * If this fails, the next wait fails too and reports the error; until then the wait has its
	 * timeout.
	 */
	if (ibv_req_notify_cq(transport->cq, 0) == 0)
		transport->told = INA_TELL_ALL;
}

/*
 * Arms the channel, and polls once more before the caller sleeps, so that no completion is missed.
 */
static enum ina_status arm_and_look(const struct ina_completions *completions, bool only_messages,
                                    int *count, struct ina_failure *failure)
{
	struct ina_transport *transport = completions->transport;

	*count = 0;
	if (transport->told == INA_TELL_ALL ||
	    (only_messages && transport->told == INA_TELL_MESSAGES))
		return INA_OK;
	if (ibv_req_notify_cq(transport->cq, only_messages) != 0)
		return ina_fail(failure, INA_ERR_DEVICE,
		                "%s: cannot request notification of completions",
		                transport->device);
	transport->told = only_messages ? INA_TELL_MESSAGES : INA_TELL_ALL;
	return ina_completions_poll(completions, count, failure);
}

enum ina_status ina_completions_look(const struct ina_completions *completions, bool only_messages,
                                     int *count, struct ina_failure *failure)
{
	enum ina_status status = INA_OK;

	*count = 0;
	for (unsigned int i = 0; i <= completions->poll_count && status == INA_OK && *count == 0;
	     i++)
		status = ina_completions_poll(completions, count, failure);
	if (status != INA_OK || *count > 0)
		return status;
	return arm_and_look(completions, only_messages, count, failure);
}

/*
 * Waits until one of the descriptors is ready. Sets *event if only the completion channel has an
 * event.
 */
static enum ina_status wait_for_any(const struct ina_completions *completions, int timeout_ms,
                                    bool *event, struct ina_failure *failure)
{
	struct ina_transport *transport = completions->transport;
	struct pollfd fds[INA_TRANSPORT_FDS + INA_NEIGHBOURS_MAX];
	int own = ina_transport_pollfds(transport, fds);
	int all = own + ina_control_pollfds(completions->control, fds + own);
	bool links = false;

	*event = false;
	if (poll(fds, (nfds_t)all, timeout_ms) < 0)
		return errno == EINTR
		               ? INA_OK
		               : ina_fail(failure, INA_ERR_SYSTEM, "poll: %s", strerror(errno));
	if (fds[0].revents)
		take_channel_event(transport);
	for (int i = own; i < all; i++)
		links |= fds[i].revents != 0;
	if (links)
		ina_control_pump(completions->control, 0);
	if (!ina_transport_is_completion(&fds[0]) || fds[1].revents || fds[2].revents)
		return ina_transport_attend(transport, failure);
	*event = fds[0].revents && !links;
	return INA_OK;
}

enum ina_status ina_completions_sleep(const struct ina_completions *completions, bool only_messages,
                                      int timeout_ms, int *count, struct ina_failure *failure)
{
	bool event = true;
	enum ina_status status = INA_OK;

	*count = 0;
	/*
	 * The event may belong to completions that have been taken already; in that case, sleep
	 * again.
	 */
	while (event && status == INA_OK && *count == 0) {
		status = arm_and_look(completions, only_messages, count, failure);
		if (status != INA_OK || *count > 0)
			break;
		status = wait_for_any(completions, timeout_ms, &event, failure);
		if (status == INA_OK)
			status = ina_completions_poll(completions, count, failure);
	}
	return status;
}

enum ina_status ina_completions_wait(const struct ina_completions *completions, int timeout_ms,
                                     int *count, struct ina_failure *failure)
{
	enum ina_status status = ina_completions_look(completions, false, count, failure);

	if (status != INA_OK || *count > 0)
		return status;
	return ina_completions_sleep(completions, false, timeout_ms, count, failure);
}

enum ina_status ina_completions_take(const struct ina_completions *completions, bool before_wait,
                                     bool only_messages, int *count, struct ina_failure *failure)
{
	return before_wait ? ina_completions_look(completions, only_messages, count, failure)
	                   : ina_completions_poll(completions, count, failure);
}
