/* SPDX-License-Identifier: Apache-2.0 */
/* Connects the neighbours with each other. */
#include "mesh.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/deadline.h"
#include "caller.h"
#include "hostlib/control/agreement.h"
#include "hostlib/control/telling.h"

enum ina_status ina_mesh_listen(int *listener, uint16_t *port, const struct ina_port_range *ports,
                                struct ina_failure *failure)
{
	const bool is_limited = ports->count > 0;
	/* Rank 0 of each job uses the lower half (hostlib/options/settings.c). */
	const int lower = ports->count / 2;
	struct sockaddr_in at = {.sin_family = AF_INET,
	                         .sin_port = htons((uint16_t)(ports->first + lower))};
	socklen_t size = sizeof(at);

	*listener = ina_link_listen(&at, is_limited ? ports->count - lower : 1);
	if (*listener < 0 || getsockname(*listener, (struct sockaddr *)&at, &size) != 0) {
		ina_fail(failure, INA_ERR_SYSTEM, "cannot listen for other ranks%s: %s",
		         is_limited ? ", at any port of the upper half of INA_PORTS" : "",
		         strerror(errno));
		if (*listener >= 0)
			close(*listener);
		*listener = -1;
		return failure->status;
	}
	*port = at.sin_port;
	return INA_OK;
}

struct meeting {
	struct ina_control *control;
	const struct ina_roster *roster;
	/* receives the neighbours with higher ranks */
	struct ina_acceptor *acceptor;
	/* for the neighbours with lower ranks, by neighbour */
	struct ina_caller callers[INA_NEIGHBOURS_MAX];
};

static bool is_missing(const struct meeting *m, int i)
{
	return m->control->neighbours[i].link.fd < 0;
}

/* Does this rank have to call that neighbour? */
static bool is_called(const struct meeting *m, int i)
{
	return m->control->neighbours[i].rank < m->control->rank && is_missing(m, i);
}

static void open_callers(struct meeting *m)
{
	struct ina_control_frame frame = ina_control_frame(m->control, INA_CONTROL_GREETING);

	frame.greeting = (struct ina_greeting){.job_id = m->roster->job_id};
	for (int i = 0; i < m->control->count; i++) {
		const struct ina_endpoint *endpoint =
		        &m->roster->endpoints[m->control->neighbours[i].rank];
		const struct sockaddr_in to = {.sin_family = AF_INET,
		                               .sin_addr.s_addr = endpoint->address,
		                               .sin_port = endpoint->tcp_port};

		ina_caller_open(&m->callers[i], m->acceptor->job, &frame, &to, 1,
		                m->acceptor->peer_timeout_ms);
	}
}

static void close_callers(struct meeting *m)
{
	for (int i = 0; i < m->control->count; i++)
		ina_caller_close(&m->callers[i]);
}

/* Returns INA_OK, or the error of a lower rank that has refused this one. */
static enum ina_status call_lower(struct meeting *m, struct ina_failure *failure)
{
	struct ina_failure why;

	for (int i = 0; i < m->control->count; i++) {
		struct ina_caller *caller = &m->callers[i];

		if (!is_called(m, i))
			continue;
		if (ina_caller_step(caller, &why) != INA_OK)
			return ina_fail(failure, why.status, "rank %d refused this rank: %s",
			                m->control->neighbours[i].rank, why.text);
		if (caller->state != INA_CALLER_IN)
			continue;
		m->control->neighbours[i].link = caller->link;
		caller->link.fd = -1;
	}
	return INA_OK;
}

static enum ina_status judge_greeting(const struct meeting *m, const struct ina_control_frame *in,
                                      struct ina_failure *failure)
{
	struct ina_control *control = m->control;
	const struct ina_link *link;

	if (in->greeting.job_id != m->roster->job_id)
		return ina_fail(failure, INA_ERR_MISMATCH,
		                "rank %u of another communicator of this job", in->rank);
	link = in->rank < (uint32_t)control->ranks ? ina_control_link(control, (int)in->rank)
	                                           : NULL;
	if (!link || in->rank < (uint32_t)control->rank)
		return ina_fail(failure, INA_ERR_MISMATCH,
		                "rank %u, which must not connect to rank %d", in->rank,
		                control->rank);
	if (link->fd >= 0)
		return ina_fail(failure, INA_ERR_MISMATCH, "a second rank %u", in->rank);
	return INA_OK;
}

/* Handles the callers at the acceptor. */
static void take_visitors(struct meeting *m)
{
	struct ina_visitor *visitor;
	struct ina_failure why;

	while ((visitor = ina_acceptor_next(m->acceptor, INA_CONTROL_GREETING)) != NULL) {
		int rank = (int)visitor->link.in.rank;

		if (judge_greeting(m, &visitor->link.in, &why) == INA_OK)
			ina_acceptor_let_in(m->acceptor, visitor,
			                    ina_control_link(m->control, rank));
		else
			ina_acceptor_refuse(m->acceptor, visitor, &why);
	}
}

static bool all_met(const struct meeting *m)
{
	for (int i = 0; i < m->control->count; i++) {
		if (is_missing(m, i))
			return false;
	}
	return true;
}

#define LET_THEM "; a firewall must let all ranks connect to each other"

static enum ina_status name_missing(const struct meeting *m, struct ina_failure *failure)
{
	struct ina_ranks who = {{0}};
	char host[INET_ADDRSTRLEN];
	char names[200];

	for (int i = 0; i < m->control->count; i++) {
		const struct ina_caller *caller = &m->callers[i];

		if (is_called(m, i))
			return ina_fail(
			        failure, INA_ERR_TIMEOUT,
			        "rank %d could not be reached at TCP port %u of %s: %s" LET_THEM,
			        m->control->neighbours[i].rank, ntohs(caller->to.sin_port),
			        inet_ntop(AF_INET, &caller->to.sin_addr, host, sizeof(host)),
			        caller->why[0] ? caller->why : "no answer");
		if (is_missing(m, i))
			ina_ranks_add(&who, m->control->neighbours[i].rank);
	}
	ina_ranks_list(names, sizeof(names), &who, m->control->ranks);
	return ina_fail(failure, INA_ERR_TIMEOUT,
	                "%s did not connect in time to TCP port %u" LET_THEM, names,
	                ntohs(m->roster->endpoints[m->control->rank].tcp_port));
}

static int fill_pollfds(const struct meeting *m, struct pollfd *fds)
{
	int count = ina_acceptor_pollfds(m->acceptor, fds);

	count += ina_control_pollfds(m->control, fds + count);
	for (int i = 0; i < m->control->count; i++) {
		if (is_called(m, i))
			fds[count++] = ina_caller_pollfd(&m->callers[i]);
	}
	return count;
}

/*
 * All ranks get the first error, and a rank that cannot reach another knows most about it: the
 * address and the reason. So such a rank gives up first, after three quarters of the time. A rank
 * that was not called gives up next. Rank 0, which only sees that these ranks are not ready, is the
 * last, at the deadline.
 */
static int64_t give_up_at_ms(const struct meeting *m, int64_t start_ms, int64_t deadline_ms)
{
	int64_t time = deadline_ms - start_ms;

	for (int i = 0; i < m->control->count; i++) {
		if (is_called(m, i))
			return deadline_ms - time / 4;
	}
	return deadline_ms - time / 8;
}

static enum ina_status meet(struct meeting *m, int64_t deadline_ms, struct ina_failure *failure)
{
	int64_t start_ms = ina_now_ms();

	for (;;) {
		struct pollfd fds[INA_ACCEPTOR_PLACES + 1 + 2 * INA_NEIGHBOURS_MAX];
		int64_t end_ms = give_up_at_ms(m, start_ms, deadline_ms);

		if (call_lower(m, failure) != INA_OK)
			return failure->status;
		take_visitors(m);
		if (all_met(m))
			return INA_OK;
		if (ina_now_ms() >= end_ms)
			return name_missing(m, failure);
		if (ina_open_failed_elsewhere(m->control, failure))
			return failure->status;
		poll(fds, (nfds_t)fill_pollfds(m, fds), ina_left_ms(end_ms, INA_CALLER_PAUSE_MS));
	}
}

enum ina_status ina_mesh_connect(struct ina_control *control, const struct ina_roster *roster,
                                 struct ina_acceptor *acceptor, int64_t deadline_ms,
                                 struct ina_failure *failure)
{
	struct meeting *m = malloc(sizeof(*m));

	failure->status = INA_OK;
	if (!m)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for connections to ranks");
	m->control = control;
	m->roster = roster;
	m->acceptor = acceptor;
	ina_acceptor_recall(acceptor); /* callers that were welcomed before this rank */
	open_callers(m);
	meet(m, deadline_ms, failure);
	close_callers(m);
	free(m);
	return failure->status;
}
