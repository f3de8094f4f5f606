/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bootstrap: each rank learns its parent from rank 0, gathers its subtree, and passes the
 * roster down.
 */
#include "bootstrap.h"

#include <stdio.h>
#include <string.h>

#include "common/deadline.h"
#include "caller.h"
#include "children.h"
#include "exchange.h"
#include "gather.h"
#include "hello.h"
#include "hostlib/control/telling.h"

/* A rank other than 0, until it has received the roster. */
struct joining {
	struct ina_control *control;
	const struct ina_settings *settings;
	const struct ina_endpoint *local;
	struct ina_acceptor *acceptor;
	struct ina_roster *roster;
	struct ina_link *parent; /* fd -1: not connected yet */
	/* the parent link of a rank number that does not exist; rank 0 will refuse the rank */
	struct ina_link nobody;
	struct ina_caller caller;
	bool calls_parent;
	bool asks; /* the deadline has passed, and this rank asks rank 0 for the reason */
	bool has_lost_parent;
	/* not INA_OK: this rank cannot take part, and reports this to rank 0 */
	struct ina_failure own;
	int64_t deadline_ms;
	struct ina_children children;
	struct ina_ranks told; /* what the parent knows of this rank's subtree */
};

static void call_root(struct joining *j)
{
	struct ina_control_frame frame = ina_control_frame(j->control, INA_CONTROL_HELLO);

	frame.hello = ina_hello_make(j->settings, j->local, &j->own);
	ina_caller_close(&j->caller);
	ina_caller_open(&j->caller, &j->settings->job, &frame, &j->settings->root,
	                j->settings->root_ports, j->settings->options.peer_timeout_ms);
	j->calls_parent = false;
}

static void call_parent(struct joining *j)
{
	struct ina_control_frame frame = ina_control_frame(j->control, INA_CONTROL_GREETING);
	const struct sockaddr_in to = {.sin_family = AF_INET,
	                               .sin_addr.s_addr = j->caller.onward.address,
	                               .sin_port = j->caller.onward.tcp_port};

	ina_caller_close(&j->caller);
	ina_caller_open(&j->caller, &j->settings->job, &frame, &to, 1,
	                j->settings->options.peer_timeout_ms);
	j->calls_parent = true;
}

static bool has_paused(const struct joining *j)
{
	return j->caller.state == INA_CALLER_PAUSES && j->caller.attempts >= j->caller.ports;
}

/*
 * Calls rank 0, and then the parent. If the parent does not answer, calls rank 0 again, which may
 * know another process with the parent's rank by then.
 */
static enum ina_status step_caller(struct joining *j, struct ina_failure *failure)
{
	struct ina_caller *caller = &j->caller;

	if (j->parent->fd >= 0 && !j->asks)
		return INA_OK;
	if (!j->calls_parent)
		caller->frame.hello.patience_ms =
		        (uint32_t)ina_left_ms(j->deadline_ms, j->settings->options.open_timeout_ms);
	if (ina_caller_step(caller, failure) != INA_OK)
		return failure->status;
	if (caller->state == INA_CALLER_SENT_ON) {
		call_parent(j);
		return ina_caller_step(caller, failure);
	} else if (caller->state == INA_CALLER_IN && j->parent->fd < 0) {
		*j->parent = caller->link;
		caller->link.fd = -1;
		j->told = (struct ina_ranks){{0}};
		call_root(j); /* prepare the next call, in case the parent dies */
	} else if (j->calls_parent && has_paused(j)) {
		call_root(j);
		caller->until_ms = ina_now_ms() + INA_CALLER_PAUSE_MS;
	}
	return INA_OK;
}

static enum ina_status judge_child(const struct joining *j, const struct ina_control_frame *in,
                                   struct ina_failure *failure)
{
	int rank = (int)in->rank;
	struct ina_link *link;

	if (in->rank >= (uint32_t)j->control->ranks || !ina_is_child(rank, j->control->rank))
		return ina_fail(
		        failure, INA_ERR_MISMATCH,
		        "rank %u, which must not connect to rank %d before all ranks have arrived",
		        in->rank, j->control->rank);
	link = ina_control_link(j->control, rank);
	if (link->fd >= 0)
		return ina_fail(failure, INA_ERR_MISMATCH,
		                "two processes were started as rank %d: the second is refused",
		                rank);
	return INA_OK;
}

static void take_children(struct joining *j)
{
	struct ina_visitor *visitor;
	struct ina_failure why;

	while ((visitor = ina_acceptor_next(j->acceptor, INA_CONTROL_GREETING)) != NULL) {
		const struct ina_control_frame *in = &visitor->link.in;

		/* that rank has received the roster already, and this one has not */
		if (in->greeting.job_id != 0)
			ina_acceptor_park(visitor);
		else if (judge_child(j, in, &why) == INA_OK)
			ina_acceptor_let_in(j->acceptor, visitor,
			                    ina_control_link(j->control, (int)in->rank));
		else
			ina_acceptor_refuse(j->acceptor, visitor, &why);
	}
}

/* Reports changes of the subtree to the parent. */
static void tell_parent(struct joining *j)
{
	struct ina_control_frame frame = ina_control_frame(j->control, INA_CONTROL_GATHERED);

	if (j->parent->fd < 0)
		return;
	frame.gathered = ina_children_come(&j->children);
	if (memcmp(&frame.gathered, &j->told, sizeof(j->told)) == 0)
		return;
	j->told = frame.gathered;
	/* If the parent has died, the next read shows it. */
	ina_link_send(j->parent, &frame, ina_now_ms() + INA_GATHER_SEND_MS);
}

/*
 * Takes a part of the roster, or the reason why there is no roster. Returns true after the last
 * frame.
 */
static bool take_welcome(struct joining *j, struct ina_failure *failure)
{
	struct ina_control_frame frame = j->parent->in;
	const struct ina_welcome *welcome = &frame.welcome;

	ina_children_welcome(&j->children, &frame);
	if (welcome->status != INA_OK) {
		ina_fail(failure, welcome->status, "%s", welcome->text);
		return true;
	}
	j->roster->job_id = welcome->job_id;
	for (uint32_t i = 0; i < welcome->count && welcome->first + i < INA_MAX_RANKS; i++)
		j->roster->endpoints[welcome->first + i] = welcome->endpoints[i];
	return welcome->first + welcome->count >= (uint32_t)j->control->ranks;
}

/* Rank 0 has ended, so there will be no roster. Tells the ranks of the subtree. */
static void tell_children(const struct joining *j, const struct ina_failure *failure)
{
	struct ina_control_frame frame = ina_control_frame(j->control, INA_CONTROL_WELCOME);

	frame.welcome.status = failure->status;
	snprintf(frame.welcome.text, sizeof(frame.welcome.text), "%.*s", INA_CONTROL_TEXT - 1,
	         failure->text);
	ina_children_welcome(&j->children, &frame);
}

/*
 * Reads frames from the parent. Returns true when the bootstrap has ended, with or without success.
 */
static bool hear_parent(struct joining *j, struct ina_failure *failure)
{
	char where[INA_ROOT_TEXT];

	while (j->parent->fd >= 0) {
		enum ina_link_result result = ina_link_read(j->parent);

		if (result == INA_LINK_NOTHING)
			return false;
		if (result == INA_LINK_FRAME && j->parent->in.type == INA_CONTROL_WELCOME) {
			if (take_welcome(j, failure))
				return true;
			continue;
		}
		ina_link_close(j->parent);
		if (ina_parent(j->control->rank) != 0) {
			j->has_lost_parent = true;
			return false; /* another process may take the parent's place */
		}
		ina_root_text(j->settings, where);
		ina_fail(failure, INA_ERR_PEER,
		         result == INA_LINK_CLOSED
		                 ? "rank 0 at %s closed the connection during the bootstrap"
		                 : "rank 0 at %s sent something other than a welcome",
		         where);
		tell_children(j, failure);
		return true;
	}
	return false;
}

/* The deadline has passed, and no rank has sent a reason. */
static enum ina_status give_up(const struct joining *j, struct ina_failure *failure)
{
	int timeout_ms = j->settings->options.open_timeout_ms;
	char where[INA_ROOT_TEXT];
	char lost[64] = "";

	ina_root_text(j->settings, where);
	if (j->own.status != INA_OK)
		return ina_fail(failure, j->own.status,
		                "%s; could not report this to rank 0 at %s: %s", j->own.text, where,
		                j->caller.why[0] ? j->caller.why : "no answer");
	if (j->has_lost_parent)
		snprintf(lost, sizeof(lost), "rank %d accepted this rank and disconnected, and ",
		         ina_parent(j->control->rank));
	if (j->parent->fd >= 0)
		return ina_fail(failure, INA_ERR_TIMEOUT,
		                "rank 0 at %s did not answer within %d ms", where, timeout_ms);
	return ina_fail(failure, INA_ERR_TIMEOUT,
	                "%srank 0 could not be reached at %s within %d ms: %s", lost, where,
	                timeout_ms, j->caller.why[0] ? j->caller.why : "no answer");
}

/*
 * The deadline has passed: rank 0 knows best which ranks are missing. Returns false if rank 0
 * cannot be asked.
 */
static bool ask_why(struct joining *j)
{
	char why[sizeof(j->caller.why)];

	if (j->asks)
		return j->parent->fd >= 0 || !has_paused(j);
	j->asks = true;
	memcpy(why, j->caller.why, sizeof(why));
	call_root(j);
	memcpy(j->caller.why, why, sizeof(why));
	return true;
}

static void wait(const struct joining *j)
{
	struct pollfd fds[INA_ACCEPTOR_PLACES + 1 + INA_NEIGHBOURS_MAX + 1];
	int count = ina_acceptor_pollfds(j->acceptor, fds);

	/* The parent and the children; the other neighbours are not connected yet. */
	count += ina_control_pollfds(j->control, fds + count);
	if (j->parent->fd < 0 || j->asks)
		fds[count++] = ina_caller_pollfd(&j->caller);
	poll(fds, (nfds_t)count, INA_CALLER_PAUSE_MS);
}

static enum ina_status join(struct joining *j, struct ina_failure *failure)
{
	for (;;) {
		int64_t now_ms;

		take_children(j);
		ina_children_step(&j->children);
		if (ina_is_stopped(j->control->stop, failure) || hear_parent(j, failure) ||
		    step_caller(j, failure) != INA_OK)
			return failure->status;
		tell_parent(j);
		now_ms = ina_now_ms();
		if (now_ms >= j->deadline_ms + INA_GATHER_GRACE_MS ||
		    (now_ms >= j->deadline_ms && (j->own.status != INA_OK || !ask_why(j))))
			return give_up(j, failure);
		wait(j);
	}
}

static enum ina_status join_bootstrap(struct ina_control *control,
                                      const struct ina_settings *settings,
                                      const struct ina_endpoint *local,
                                      struct ina_acceptor *acceptor, int64_t deadline_ms,
                                      struct ina_roster *roster, struct ina_failure *failure)
{
	struct joining joining;
	struct joining *j = &joining;

	if (failure->status != INA_OK && deadline_ms > ina_now_ms() + INA_GATHER_TELL_MS)
		deadline_ms = ina_now_ms() + INA_GATHER_TELL_MS;
	*j = (struct joining){
	        .control = control,
	        .settings = settings,
	        .local = local,
	        .acceptor = acceptor,
	        .roster = roster,
	        .nobody.fd = -1,
	        .caller.link.fd = -1,
	        .own = *failure,
	        .deadline_ms = deadline_ms,
	        .children.control = control,
	};
	j->parent = ina_control_link(control, ina_parent(control->rank));
	if (!j->parent)
		j->parent = &j->nobody;
	call_root(j);
	failure->status = INA_OK;
	/*
	 * Close the connections: this rank's place becomes free, and its children find another
	 * parent.
	 */
	if (join(j, failure) != INA_OK) {
		for (int i = 0; i < control->count; i++)
			ina_link_close(&control->neighbours[i].link);
	}
	ina_caller_close(&j->caller);
	return failure->status;
}

enum ina_status ina_bootstrap(struct ina_control *control, const struct ina_settings *settings,
                              const struct ina_endpoint *local, struct ina_acceptor *acceptor,
                              int64_t deadline_ms, struct ina_roster *roster,
                              struct ina_failure *failure)
{
	memset(roster, 0, sizeof(*roster));
	if (settings->options.exchange)
		return ina_exchange(settings, local, roster, failure);
	if (control->rank == 0) {
		roster->endpoints[0] = *local;
		return ina_gather(control, settings, acceptor->visitors, acceptor->places,
		                  deadline_ms, roster, failure);
	}
	return join_bootstrap(control, settings, local, acceptor, deadline_ms, roster, failure);
}
