/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0: gathers HELLOs, compares them, and answers all with a WELCOME. */
#include "gather.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/deadline.h"
#include "acceptor.h"

/* Between two looks at what has come. */
#define TICK_MS 1000

/* Between two looks at ports that others have. */
#define LISTEN_PAUSE_MS 50

struct gathering {
	struct ina_control *control;
	const struct ina_settings *settings;
	struct ina_roster *roster;
	struct ina_failure mismatch; /* the first that was found and ends the job */
	int64_t deadline_ms;
	int come;                          /* ranks that have, rank 0 included */
	int refused;                       /* ranks of this job that disagree */
	int64_t until_ms[INA_MAX_RANKS];   /* when a rank that has come gives up */
	unsigned char left[INA_MAX_RANKS]; /* it has come, and has not stayed */
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

static const char *algorithm_name(uint32_t algorithm)
{
	switch (algorithm) {
	case INA_ALGORITHM_AUTO:
		return "auto";
	case INA_ALGORITHM_INA:
		return "ina";
	case INA_ALGORITHM_RING:
		return "ring";
	default:
		return "unknown";
	}
}

static const char *schedule_name(uint32_t schedule)
{
	static const char *const names[] = {"auto", "flat", "leader", "parallel"};

	return schedule < sizeof(names) / sizeof(names[0]) ? names[schedule] : "unknown";
}

/* Returns a listening socket, or -1 with errno. */
static int listen_at(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;
	int error;

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
	    bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 &&
	    listen(fd, INA_ACCEPTOR_PLACES) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int listen_at_any(const struct ina_settings *settings)
{
	struct sockaddr_in at = settings->root;
	int fd = -1;

	for (int i = 0; i < settings->root_ports && fd < 0; i++) {
		at.sin_port = htons((uint16_t)(ntohs(settings->root.sin_port) + i));
		fd = listen_at(&at);
	}
	return fd;
}

/* Another job holds a port no longer than until its ranks have met. */
static enum ina_status listen_at_root(const struct ina_settings *settings, int64_t deadline_ms,
                                      int *listener, struct ina_failure *failure)
{
	char where[INA_ROOT_TEXT];
	int error;

	for (;;) {
		*listener = settings->listener >= 0 ? settings->listener : listen_at_any(settings);
		if (*listener >= 0)
			return INA_OK;
		error = errno;
		if (error != EADDRINUSE || ina_now_ms() >= deadline_ms)
			break;
		poll(NULL, 0, LISTEN_PAUSE_MS);
	}
	ina_root_text(settings, where);
	return ina_fail(failure, INA_ERR_SYSTEM,
	                "rank 0 cannot listen on %s, the address of the bootstrap: %s%s", where,
	                strerror(error),
	                error == EADDRINUSE ? "; another job may be there: give this one a port of "
	                                      "its own in INA_ROOT, or a name in INA_COOKIE"
	                                    : "");
}

/* Compares what a rank brought with rank 0's. INA_OK, or INA_ERR_MISMATCH. */
static enum ina_status compare_hello(const struct ina_settings *settings, uint32_t rank,
                                     const struct ina_hello *hello, struct ina_failure *m)
{
	const struct ina_options *own = &settings->options;

	if (hello->ranks != (uint32_t)own->ranks)
		return ina_fail(m, INA_ERR_MISMATCH,
		                "rank %u was started as one of %u ranks, rank 0 as one of %d", rank,
		                hello->ranks, own->ranks);
	if (rank >= hello->ranks)
		return ina_fail(m, INA_ERR_MISMATCH,
		                "a rank %u came, but the rank count is %u: ranks are 0 to %u", rank,
		                hello->ranks, hello->ranks - 1);
	if (hello->algorithm != (uint32_t)own->algorithm)
		return ina_fail(m, INA_ERR_MISMATCH, "rank %u asks for algorithm %s, rank 0 for %s",
		                rank, algorithm_name(hello->algorithm),
		                algorithm_name(own->algorithm));
	if (hello->fixed_point != (own->fixed_point != 0))
		return ina_fail(m, INA_ERR_MISMATCH,
		                "rank %u asks for float32 in %s point, rank 0 does not", rank,
		                hello->fixed_point ? "fixed" : "floating");
	if (hello->schedule != (uint32_t)own->schedule)
		return ina_fail(m, INA_ERR_MISMATCH, "rank %u asks for schedule %s, rank 0 for %s",
		                rank, schedule_name(hello->schedule), schedule_name(own->schedule));
	if (hello->window != own->window)
		return ina_fail(m, INA_ERR_MISMATCH,
		                "rank %u has a window of %u messages, rank 0 of %u", rank,
		                hello->window, own->window);
	if (hello->message_bytes != own->message_bytes)
		return ina_fail(m, INA_ERR_MISMATCH, "rank %u has message_bytes %u, rank 0 %u",
		                rank, hello->message_bytes, own->message_bytes);
	return INA_OK;
}

static bool has_come(const struct gathering *g, uint32_t rank)
{
	return rank == 0 || g->control->peers[rank].link.fd >= 0;
}

/*
 * Of this job, as far as its cookie tells. Where a launcher or the user has named the job, nobody
 * else will come as a rank that disagrees, so it is the end for all. Where nobody has, it may be
 * another job's: it alone is told, and its place is still to be taken.
 */
static void take_hello(struct gathering *g, struct ina_visitor *visitor)
{
	uint32_t rank = visitor->link.in.rank;
	const struct ina_hello *hello = &visitor->link.in.hello;
	struct ina_failure misfit = {INA_OK, ""};

	if (compare_hello(g->settings, rank, hello, &misfit) != INA_OK) {
		ina_acceptor_refuse(&g->acceptor, visitor, &misfit);
		g->refused++;
		if (g->settings->job.has_cookie && g->mismatch.status == INA_OK)
			g->mismatch = misfit;
		return;
	}
	if (has_come(g, rank)) {
		ina_fail(&misfit, INA_ERR_MISMATCH,
		         "two processes were started as rank %u: the second is turned away", rank);
		ina_acceptor_refuse(&g->acceptor, visitor, &misfit);
		return;
	}
	g->roster->endpoints[rank] = hello->endpoint;
	g->until_ms[rank] = ina_now_ms() + hello->patience_ms;
	g->left[rank] = false;
	g->come++;
	ina_acceptor_let_in(&g->acceptor, visitor, &g->control->peers[rank].link);
}

/* Who has not come, who has come and gone, and who else came. */
static void name_missing(const struct gathering *g, struct ina_failure *failure)
{
	const int ranks = g->control->ranks;
	unsigned char missing[INA_MAX_RANKS] = {0};
	char where[INA_ROOT_TEXT];
	char names[200];

	for (int r = 1; r < ranks; r++)
		missing[r] = !has_come(g, (uint32_t)r) && !g->left[r];
	ina_root_text(g->settings, where);
	if (ina_list_ranks(names, sizeof(names), missing, ranks) > 0)
		ina_fail(failure, INA_ERR_TIMEOUT, "%s did not come to %s within %d ms", names,
		         where, g->settings->options.open_timeout_ms);
	else
		ina_fail(failure, INA_ERR_TIMEOUT, "not all ranks came to %s at once", where);
	if (ina_list_ranks(names, sizeof(names), g->left, ranks) > 0)
		ina_fail(failure, INA_ERR_TIMEOUT, "%s; %s came and did not wait", failure->text,
		         names);
	if (g->acceptor.last[0])
		ina_fail(failure, INA_ERR_TIMEOUT, "%s; sent away: %s", failure->text,
		         g->acceptor.last);
}

static void send_welcome(struct gathering *g, int rank, const struct ina_failure *outcome)
{
	struct ina_control_frame frame = ina_control_frame(g->control, INA_CONTROL_WELCOME);

	frame.welcome.job_id = g->roster->job_id;
	frame.welcome.status = outcome->status;
	memcpy(frame.welcome.endpoints, g->roster->endpoints, sizeof(frame.welcome.endpoints));
	snprintf(frame.welcome.text, sizeof(frame.welcome.text), "%.*s", INA_CONTROL_TEXT - 1,
	         outcome->text);
	ina_control_send(g->control, rank, &frame);
}

/* Ranks that have died, or that wait no longer and are told for whom. They may come again. */
static void see_off(struct gathering *g)
{
	for (int r = 1; r < g->control->ranks; r++) {
		struct ina_link *link = &g->control->peers[r].link;
		struct ina_failure missing;
		bool is_late;

		if (link->fd < 0)
			continue;
		is_late = ina_now_ms() >= g->until_ms[r];
		if (!is_late && ina_link_read(link) == INA_LINK_NOTHING)
			continue;
		if (is_late) {
			name_missing(g, &missing);
			send_welcome(g, r, &missing);
		}
		ina_link_close(link);
		g->control->peers[r].gone = false; /* its place is free */
		g->left[r] = true;
		g->come--;
	}
}

/* Waits for ranks, until all have come, or the deadline, or a while after a mismatch. */
static enum ina_status gather(struct gathering *g, struct ina_failure *failure)
{
	bool is_short = false; /* after a mismatch */

	while (g->come + (is_short ? g->refused : 0) < g->control->ranks &&
	       ina_now_ms() < g->deadline_ms) {
		struct pollfd fds[INA_ACCEPTOR_PLACES + 1];
		struct ina_visitor *visitor;

		poll(fds, (nfds_t)ina_acceptor_pollfds(&g->acceptor, fds),
		     ina_left_ms(g->deadline_ms, TICK_MS));
		see_off(g);
		while ((visitor = ina_acceptor_next(&g->acceptor, INA_CONTROL_HELLO)) != NULL)
			take_hello(g, visitor);
		if (g->mismatch.status != INA_OK && !is_short) {
			int64_t grace_ms = ina_now_ms() + INA_GATHER_GRACE_MS;

			is_short = true;
			if (grace_ms < g->deadline_ms)
				g->deadline_ms = grace_ms;
		}
	}
	if (g->mismatch.status != INA_OK)
		*failure = g->mismatch;
	else if (g->come < g->control->ranks)
		name_missing(g, failure);
	return failure->status;
}

enum ina_status ina_gather(struct ina_control *control, const struct ina_settings *settings,
                           int64_t deadline_ms, struct ina_roster *roster,
                           struct ina_failure *failure)
{
	struct gathering *g = calloc(1, sizeof(*g));
	struct ina_failure outcome = {INA_OK, ""};
	int listener;

	if (!g)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for the bootstrap");
	g->control = control;
	g->settings = settings;
	g->roster = roster;
	g->deadline_ms = deadline_ms;
	g->come = 1;

	if (listen_at_root(settings, deadline_ms, &listener, &outcome) != INA_OK)
		goto out_free;
	ina_acceptor_open(&g->acceptor, listener, &settings->job,
	                  settings->options.peer_timeout_ms);
	gather(g, &outcome);
	if (outcome.status == INA_OK && ina_random_number(&roster->job_id) != 0)
		ina_fail(&outcome, INA_ERR_SYSTEM, "no random number for the job: %s",
		         strerror(errno));
	/* Closed before anybody is welcomed, so that a rank's next bootstrap cannot get in here.
	 */
	close(listener);
	for (int r = 1; r < control->ranks; r++)
		send_welcome(g, r, &outcome);

	ina_acceptor_close(&g->acceptor);
	control->unknown_peers += g->acceptor.unknown_peers;
out_free:
	free(g);
	return outcome.status == INA_OK ? INA_OK
	                                : ina_fail(failure, outcome.status, "%s", outcome.text);
}
