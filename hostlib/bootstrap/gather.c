/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0: gathers the HELLOs, compares them, and sends all ranks a WELCOME. */
#include "gather.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/interrupted.h"
#include "caller.h"
#include "children.h"
#include "hello.h"
#include "hostlib/control/telling.h"

/* The longest wait before rank 0 looks at its connections again. */
#define TICK_MS 1000

/* A rank that was put off and has not called again within this time counts as dead. */
#define AWAY_MS 3000

/* Within this time, a rank that was sent on reaches its parent. */
#define SENT_ON_MS 2000

/* The pause between two attempts to listen while other jobs use the ports. */
#define LISTEN_PAUSE_MS 50

struct gathering {
	struct ina_control *control;
	const struct ina_settings *settings;
	struct ina_roster *roster;
	struct ina_hello own;        /* rank 0's */
	struct ina_failure mismatch; /* the first failure that ends the bootstrap for all ranks */
	int64_t deadline_ms;
	int refused; /* ranks of this job that have other options or have failed */
	struct ina_children children;
	struct ina_ranks come;  /* ranks that are in the tree, as far as rank 0 knows */
	struct ina_ranks left;  /* ranks that were in the tree and have ended */
	struct ina_ranks known; /* ranks whose current endpoints are in the roster */
	struct caller {
		int64_t called_ms;  /* time of the last call; 0: none */
		int64_t sent_on_ms; /* when it was sent on to its parent; 0: not yet */
	} callers[INA_MAX_RANKS];
	struct ina_acceptor acceptor;
};

void ina_root_text(const struct ina_settings *settings, char text[INA_ROOT_TEXT])
{
	char host[INET_ADDRSTRLEN];
	int first = ntohs(settings->root.sin_port);

	inet_ntop(AF_INET, &settings->root.sin_addr, host, sizeof(host));
	snprintf(text, INA_ROOT_TEXT, settings->root_ports > 1 ? "%s:%d to %d" : "%s:%d", host,
	         first, first + settings->root_ports - 1);
}

/* Waits for a port, because another job holds one only until its ranks have met. */
static enum ina_status listen_at_root(const struct ina_settings *settings, int64_t deadline_ms,
                                      int *listener, struct ina_failure *failure)
{
	char where[INA_ROOT_TEXT];
	const char *advice = "";
	int error;

	for (;;) {
		*listener = settings->listener >= 0
		                    ? settings->listener
		                    : ina_link_listen(&settings->root, settings->root_ports);
		if (*listener >= 0)
			return INA_OK;
		error = errno;
		if (ina_is_stopped(settings->stop, failure))
			return failure->status;
		if (error != EADDRINUSE || ina_now_ms() >= deadline_ms)
			break;
		ina_poll(NULL, 0, LISTEN_PAUSE_MS);
	}
	ina_root_text(settings, where);
	if (error == EADDRINUSE)
		advice = "; another job may use it: give this job its own port in INA_ROOT, or its "
		         "own name in INA_COOKIE";
	else if (error == EADDRNOTAVAIL)
		advice = "; this host has rank 0, so INA_ROOT must be one of its addresses";
	return ina_fail(failure, INA_ERR_SYSTEM,
	                "rank 0 cannot listen on %s, the bootstrap address: %s%s", where,
	                strerror(error), advice);
}

/* Does the rank call, without being in the tree yet? */
static bool is_calling(const struct gathering *g, int rank)
{
	int64_t called_ms = g->callers[rank].called_ms;

	return called_ms != 0 && ina_now_ms() - called_ms < AWAY_MS &&
	       !ina_ranks_have(&g->come, rank);
}

/*
 * Writes which ranks have not connected, which have connected and ended, and which other callers
 * came.
 */
static void name_missing(const struct gathering *g, struct ina_failure *failure)
{
	const int ranks = g->control->ranks;
	struct ina_ranks missing = {{0}};
	char where[INA_ROOT_TEXT];
	char names[200];

	for (int r = 1; r < ranks; r++) {
		if (!ina_ranks_have(&g->come, r) && !ina_ranks_have(&g->left, r) &&
		    !is_calling(g, r))
			ina_ranks_add(&missing, r);
	}
	ina_root_text(g->settings, where);
	if (ina_ranks_list(names, sizeof(names), &missing, ranks) > 0)
		ina_fail(failure, INA_ERR_TIMEOUT, "%s did not connect to %s within %d ms", names,
		         where, g->settings->options.open_timeout_ms);
	else
		ina_fail(failure, INA_ERR_TIMEOUT,
		         "not all ranks were connected to %s at the same time", where);
	if (ina_ranks_list(names, sizeof(names), &g->left, ranks) > 0)
		ina_fail(failure, INA_ERR_TIMEOUT, "%s; %s connected and did not wait",
		         failure->text, names);
	if (g->acceptor.last[0])
		ina_fail(failure, INA_ERR_TIMEOUT, "%s; refused: %s", failure->text,
		         g->acceptor.last);
}

/*
 * Accepts the caller if rank 0 is its parent. Otherwise sends it on to its parent when that has
 * called.
 */
static void place(struct gathering *g, struct ina_visitor *visitor)
{
	int rank = (int)visitor->link.in.rank;
	struct ina_endpoint endpoint = visitor->link.in.hello.endpoint;
	struct caller *caller = &g->callers[rank];
	int parent = ina_parent(rank);
	int64_t now_ms = ina_now_ms();
	bool is_on_its_way = caller->sent_on_ms != 0 && now_ms - caller->sent_on_ms < SENT_ON_MS;

	/*
	 * Another process calls with this rank while the first one is still on its way to its
	 * parent. It is considered when the first one has not arrived in time.
	 */
	if (is_on_its_way &&
	    memcmp(&endpoint, &g->roster->endpoints[rank], sizeof(endpoint)) != 0) {
		ina_acceptor_send_on(&g->acceptor, visitor, NULL);
		return;
	}
	g->roster->endpoints[rank] = endpoint;
	if (!ina_ranks_have(&g->known, rank))
		ina_acceptor_recall(&g->acceptor); /* one of its children may be waiting for it */
	ina_ranks_add(&g->known, rank);
	caller->called_ms = now_ms;
	if (parent == 0) {
		ina_acceptor_let_in(&g->acceptor, visitor, ina_control_link(g->control, rank));
	} else if (ina_ranks_have(&g->known, parent)) {
		caller->sent_on_ms = now_ms;
		ina_acceptor_send_on(&g->acceptor, visitor, &g->roster->endpoints[parent]);
	} else {
		ina_acceptor_park(visitor);
	}
}

/*
 * Is this the process that is in the tree with this rank? It did not receive the answer that
 * accepted it, and has closed its first connection, which rank 0 has not noticed yet. It may
 * connect when rank 0 has.
 */
static bool has_lost_its_way(const struct gathering *g, uint32_t rank,
                             const struct ina_endpoint *endpoint)
{
	return rank != 0 && memcmp(endpoint, &g->roster->endpoints[rank], sizeof(*endpoint)) == 0;
}

/*
 * The rank has failed, so no rank can take part. It gets the same error as all ranks: the first
 * failure.
 */
static void take_failure(struct gathering *g, struct ina_visitor *visitor)
{
	const struct ina_control_frame *in = &visitor->link.in;

	if (g->mismatch.status == INA_OK)
		ina_fail(&g->mismatch, in->hello.status, "rank %u: %s", in->rank, in->hello.text);
	g->refused++;
	ina_acceptor_tell(&g->acceptor, visitor, &g->mismatch);
}

/*
 * Handles a HELLO that belongs to this job by its cookie. If a launcher or the user has named the
 * job, a rank with other options is a mistake, and the bootstrap ends for all. If nobody has named
 * the job, the caller may belong to another job: only the caller gets the error, and its rank's
 * place stays free.
 */
static void take_hello(struct gathering *g, struct ina_visitor *visitor)
{
	uint32_t rank = visitor->link.in.rank;
	const struct ina_hello *hello = &visitor->link.in.hello;
	struct ina_failure misfit;
	bool is_expected;

	if (ina_hello_compare(&g->own, rank, hello, &misfit) != INA_OK) {
		ina_acceptor_refuse(&g->acceptor, visitor, &misfit);
		g->refused++;
		if (g->settings->job.has_cookie && g->mismatch.status == INA_OK)
			g->mismatch = misfit;
		return;
	}
	is_expected = rank != 0 && !ina_ranks_have(&g->come, (int)rank);
	if (hello->status != INA_OK && is_expected) {
		take_failure(g, visitor);
		/* it does not wait, but asks which ranks are missing */
	} else if (hello->patience_ms == 0) {
		name_missing(g, &misfit);
		ina_acceptor_tell(&g->acceptor, visitor, &misfit);
	} else if (is_expected) {
		place(g, visitor);
	} else if (has_lost_its_way(g, rank, &hello->endpoint)) {
		ina_acceptor_send_on(&g->acceptor, visitor, NULL);
	} else {
		ina_fail(&misfit, INA_ERR_MISMATCH,
		         "two processes were started as rank %u: the second is refused", rank);
		ina_acceptor_refuse(&g->acceptor, visitor, &misfit);
	}
}

/*
 * Updates which ranks are in the tree. A rank that was in it and has died, or no longer waits, may
 * connect again.
 */
static void look_at_tree(struct gathering *g)
{
	struct ina_ranks before = g->come;

	ina_children_step(&g->children);
	g->come = ina_children_come(&g->children);
	for (int r = 1; r < g->control->ranks; r++) {
		bool is_there = ina_ranks_have(&g->come, r);

		if (is_there) {
			ina_ranks_remove(&g->left, r);
			g->callers[r].sent_on_ms = 0;
		} else if (ina_ranks_have(&before, r)) {
			ina_ranks_add(&g->left, r);
			ina_ranks_remove(&g->known, r);
			g->callers[r].called_ms = 0;
		}
	}
}

static void wait(const struct gathering *g, int64_t deadline_ms)
{
	struct pollfd fds[INA_ACCEPTOR_PLACES + 1 + INA_NEIGHBOURS_MAX];
	int count = ina_acceptor_pollfds(&g->acceptor, fds);

	count += ina_control_pollfds(g->control, fds + count);
	poll(fds, (nfds_t)count,
	     ina_left_ms(deadline_ms, g->acceptor.is_full ? INA_ACCEPTOR_TICK_MS : TICK_MS));
}

static int count_calling(const struct gathering *g)
{
	int count = 0;

	for (int r = 1; r < g->control->ranks; r++)
		count += is_calling(g, r);
	return count;
}

/* Have all ranks connected? If the bootstrap has failed: can all ranks be informed? */
static bool have_all_come(const struct gathering *g)
{
	int count = ina_ranks_count(&g->come, g->control->ranks);

	if (g->mismatch.status != INA_OK)
		count += g->refused + count_calling(g);
	return count >= g->control->ranks;
}

/* Waits until all ranks have connected, until the deadline, or until some time after a failure. */
static enum ina_status gather(struct gathering *g, struct ina_failure *failure)
{
	int ranks = g->control->ranks;
	bool is_short = false; /* the deadline was shortened after a failure */

	for (;;) {
		struct ina_visitor *visitor;

		if (ina_is_stopped(g->control->stop, failure))
			return ina_fail(failure, failure->status, "rank 0: %s", failure->text);
		if (g->mismatch.status != INA_OK && !is_short) {
			int64_t grace_ms = ina_now_ms() + INA_GATHER_TELL_MS;

			is_short = true;
			if (grace_ms < g->deadline_ms)
				g->deadline_ms = grace_ms;
		}
		if (have_all_come(g) || ina_now_ms() >= g->deadline_ms)
			break;
		wait(g, g->deadline_ms);
		look_at_tree(g);
		/* check that parked callers are still connected */
		ina_acceptor_recall(&g->acceptor);
		while ((visitor = ina_acceptor_next(&g->acceptor, INA_CONTROL_HELLO)) != NULL) {
			take_hello(g, visitor);
			look_at_tree(g);
		}
	}
	if (g->mismatch.status != INA_OK)
		*failure = g->mismatch;
	else if (ina_ranks_count(&g->come, ranks) < ranks)
		name_missing(g, failure);
	return failure->status;
}

/* Sends the roster down the tree in parts, or the reason why there is no roster. */
static void welcome(struct gathering *g, const struct ina_failure *outcome)
{
	uint32_t ranks = (uint32_t)g->control->ranks;
	uint32_t end = outcome->status == INA_OK ? ranks : 1;

	for (uint32_t first = 0; first < end; first += INA_WELCOME_ENDPOINTS) {
		struct ina_control_frame frame = ina_control_frame(g->control, INA_CONTROL_WELCOME);
		uint32_t rest = ranks - first;

		frame.welcome.job_id = g->roster->job_id;
		frame.welcome.status = outcome->status;
		frame.welcome.first = first;
		frame.welcome.count = rest < INA_WELCOME_ENDPOINTS ? rest : INA_WELCOME_ENDPOINTS;
		memcpy(frame.welcome.endpoints, &g->roster->endpoints[first],
		       frame.welcome.count * sizeof(frame.welcome.endpoints[0]));
		snprintf(frame.welcome.text, sizeof(frame.welcome.text), "%.*s",
		         INA_CONTROL_TEXT - 1, outcome->text);
		ina_children_welcome(&g->children, &frame);
	}
}

/* A rank that was put off is not in the tree. It calls again soon, and gets the reason then. */
static void refuse_callers(struct gathering *g, const struct ina_failure *outcome)
{
	int64_t deadline_ms = ina_now_ms() + 2 * INA_CALLER_PUT_OFF_MS;
	struct ina_visitor *visitor;

	ina_acceptor_recall(&g->acceptor);
	while (count_calling(g) > 0 && ina_now_ms() < deadline_ms) {
		wait(g, deadline_ms);
		look_at_tree(g);
		while ((visitor = ina_acceptor_next(&g->acceptor, INA_CONTROL_HELLO)) != NULL) {
			uint32_t rank = visitor->link.in.rank;

			if (rank < (uint32_t)g->control->ranks && is_calling(g, (int)rank)) {
				ina_acceptor_tell(&g->acceptor, visitor, outcome);
				g->callers[rank].called_ms = 0;
			} else { /* perhaps a call of its next bootstrap */
				ina_acceptor_send_on(&g->acceptor, visitor, NULL);
			}
		}
	}
}

enum ina_status ina_gather(struct ina_control *control, const struct ina_settings *settings,
                           struct ina_visitor *visitors, int room, int64_t deadline_ms,
                           struct ina_roster *roster, struct ina_failure *failure)
{
	struct gathering gathering = {
	        .control = control,
	        .settings = settings,
	        .roster = roster,
	        .own = ina_hello_make(settings, &roster->endpoints[0], failure),
	        .deadline_ms = deadline_ms,
	        .children.control = control};
	struct gathering *g = &gathering;
	struct ina_failure outcome = {INA_OK, ""};
	int listener;

	g->come = ina_children_come(&g->children);
	g->known = g->come;
	if (failure->status != INA_OK)
		ina_fail(&g->mismatch, failure->status, "rank 0: %s", failure->text);

	if (listen_at_root(settings, deadline_ms, &listener, &outcome) != INA_OK)
		goto out;
	ina_acceptor_open(&g->acceptor, listener, &settings->job, settings->options.peer_timeout_ms,
	                  visitors, room);
	gather(g, &outcome);
	if (outcome.status == INA_OK && ina_random_number(&roster->job_id) != 0)
		ina_fail(&outcome, INA_ERR_SYSTEM, "cannot get a random number for the job: %s",
		         strerror(errno));
	if (outcome.status != INA_OK)
		refuse_callers(g, &outcome);
	/*
	 * Close the listener before any rank is welcomed, so that no call of a rank's next
	 * bootstrap arrives here.
	 */
	close(listener);
	welcome(g, &outcome);

	ina_acceptor_close(&g->acceptor);
	control->unknown_peers += g->acceptor.unknown_peers;
out:
	if (g->mismatch.status != INA_OK)
		outcome = g->mismatch;
	return outcome.status == INA_OK ? INA_OK
	                                : ina_fail(failure, outcome.status, "%s", outcome.text);
}
