/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap: rank 0 gathers HELLOs, compares them, and answers all with a WELCOME. */
#include "bootstrap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/deadline.h"
#include "acceptor.h"

/* After ranks were found to disagree: for the others to come and hear of it. */
#define GRACE_MS 3000

/* For a WELCOME to be sent. */
#define WELCOME_MS 5000

#define CONNECT_INTERVAL_MS 50

struct gathering {
	struct ina_control *control;
	const struct ina_settings *settings;
	struct ina_roster *roster;
	struct ina_failure mismatch; /* the first that was found */
	int64_t deadline_ms;         /* the first at which some rank that has come gives up */
	int come;                    /* ranks that have, rank 0 included */
	struct ina_acceptor acceptor;
	/* Ranks that must hear of a mismatch but have no place among the peers. */
	struct ina_link extras[INA_ACCEPTOR_PLACES];
	int extra_count;
};

static void format_root(const struct ina_settings *settings, char *text, size_t size)
{
	char host[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &settings->root.sin_addr, host, sizeof(host));
	snprintf(text, size, "%s:%u", host, ntohs(settings->root.sin_port));
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

static enum ina_status listen_at_root(const struct ina_settings *settings, int *listener,
                                      struct ina_failure *failure)
{
	const struct sockaddr_in *root = &settings->root;
	char where[64];
	int one = 1;

	*listener = settings->listener;
	if (*listener >= 0)
		return INA_OK;
	*listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*listener < 0)
		return ina_fail(failure, INA_ERR_SYSTEM, "no socket for the bootstrap: %s",
		                strerror(errno));
	if (setsockopt(*listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
	    bind(*listener, (const struct sockaddr *)root, sizeof(*root)) == 0 &&
	    listen(*listener, INA_ACCEPTOR_PLACES) == 0)
		return INA_OK;
	format_root(settings, where, sizeof(where));
	ina_fail(failure, INA_ERR_SYSTEM,
	         "rank 0 cannot listen on %s, the address of the bootstrap: %s", where,
	         strerror(errno));
	close(*listener);
	return failure->status;
}

/* Compares what a rank brought with rank 0's. The first difference of all is kept. */
static void compare_hello(struct gathering *g, uint32_t rank, const struct ina_hello *hello)
{
	const struct ina_options *own = &g->settings->options;
	struct ina_failure *m = &g->mismatch;

	if (m->status != INA_OK)
		return;
	if (hello->ranks != (uint32_t)own->ranks)
		ina_fail(m, INA_ERR_MISMATCH,
		         "rank %u was started as one of %u ranks, rank 0 as one of %d", rank,
		         hello->ranks, own->ranks);
	else if (rank >= hello->ranks)
		ina_fail(m, INA_ERR_MISMATCH,
		         "a rank %u came, but the rank count is %u: ranks are 0 to %u", rank,
		         hello->ranks, hello->ranks - 1);
	else if (rank == 0 || g->control->peers[rank].link.fd >= 0)
		ina_fail(m, INA_ERR_MISMATCH, "two processes were started as rank %u", rank);
	else if (hello->algorithm != (uint32_t)own->algorithm)
		ina_fail(m, INA_ERR_MISMATCH, "rank %u asks for algorithm %s, rank 0 for %s", rank,
		         algorithm_name(hello->algorithm), algorithm_name(own->algorithm));
	else if (hello->fixed_point != (own->fixed_point != 0))
		ina_fail(m, INA_ERR_MISMATCH,
		         "rank %u asks for float32 in %s point, rank 0 does not", rank,
		         hello->fixed_point ? "fixed" : "floating");
	else if (hello->schedule != (uint32_t)own->schedule)
		ina_fail(m, INA_ERR_MISMATCH, "rank %u asks for schedule %s, rank 0 for %s", rank,
		         schedule_name(hello->schedule), schedule_name(own->schedule));
	else if (hello->window != own->window)
		ina_fail(m, INA_ERR_MISMATCH, "rank %u has a window of %u messages, rank 0 of %u",
		         rank, hello->window, own->window);
	else if (hello->message_bytes != own->message_bytes)
		ina_fail(m, INA_ERR_MISMATCH, "rank %u has message_bytes %u, rank 0 %u", rank,
		         hello->message_bytes, own->message_bytes);
}

static void take_hello(struct gathering *g, struct ina_link *visitor)
{
	uint32_t rank = visitor->in.rank;
	const struct ina_hello *hello = &visitor->in.hello;
	int64_t deadline_ms = ina_now_ms() + hello->patience_ms;

	compare_hello(g, rank, hello);
	if (rank > 0 && rank < (uint32_t)g->control->ranks && g->control->peers[rank].link.fd < 0) {
		g->roster->endpoints[rank] = hello->endpoint;
		g->control->peers[rank].link = *visitor;
		g->come++;
		/* Who waits no longer must still hear from here who is missing. */
		if (deadline_ms < g->deadline_ms)
			g->deadline_ms = deadline_ms;
	} else if (g->extra_count < INA_ACCEPTOR_PLACES) {
		g->extras[g->extra_count++] = *visitor;
	} else {
		ina_link_close(visitor);
	}
	visitor->fd = -1;
}

/* Waits for ranks, until all have come, or the deadline, or a while after a mismatch. */
static enum ina_status gather(struct gathering *g, struct ina_failure *failure)
{
	const struct ina_options *options = &g->settings->options;
	bool is_short = false; /* after a mismatch */

	while (g->come < g->control->ranks && ina_now_ms() < g->deadline_ms) {
		struct pollfd fds[INA_ACCEPTOR_PLACES + 1];
		struct ina_link *visitor;

		poll(fds, (nfds_t)ina_acceptor_pollfds(&g->acceptor, fds),
		     ina_left_ms(g->deadline_ms, 1000));
		while ((visitor = ina_acceptor_next(&g->acceptor, INA_CONTROL_HELLO)) != NULL)
			take_hello(g, visitor);
		if (g->mismatch.status != INA_OK && !is_short) {
			int64_t grace_ms = ina_now_ms() + GRACE_MS;

			is_short = true;
			if (grace_ms < g->deadline_ms)
				g->deadline_ms = grace_ms;
		}
	}
	if (g->mismatch.status != INA_OK)
		return ina_fail(failure, INA_ERR_MISMATCH, "%s", g->mismatch.text);
	if (g->come < g->control->ranks) {
		unsigned char missing[INA_MAX_RANKS] = {0};
		char names[200];
		char where[64];

		for (int r = 1; r < g->control->ranks; r++)
			missing[r] = g->control->peers[r].link.fd < 0;
		ina_list_ranks(names, sizeof(names), missing, g->control->ranks);
		format_root(g->settings, where, sizeof(where));
		return ina_fail(failure, INA_ERR_TIMEOUT, "%s did not come to %s within %d ms",
		                names, where, options->open_timeout_ms);
	}
	return INA_OK;
}

/* Tells every rank that came how the bootstrap ended. */
static void welcome_all(struct gathering *g, const struct ina_failure *failure)
{
	struct ina_control_frame frame = ina_control_frame(g->control, INA_CONTROL_WELCOME);
	int64_t deadline_ms = ina_now_ms() + WELCOME_MS;

	frame.welcome.job_id = g->roster->job_id;
	frame.welcome.status = failure->status;
	memcpy(frame.welcome.endpoints, g->roster->endpoints, sizeof(frame.welcome.endpoints));
	snprintf(frame.welcome.text, sizeof(frame.welcome.text), "%.*s", INA_CONTROL_TEXT - 1,
	         failure->text);
	ina_control_broadcast(g->control, &frame);
	for (int i = 0; i < g->extra_count; i++)
		ina_link_send(&g->extras[i], &frame, deadline_ms);
}

/* A host that has just booted may lack entropy for long: then what there is must do. */
static int make_job_id(uint64_t *job_id)
{
	ssize_t got = getrandom(job_id, sizeof(*job_id), GRND_NONBLOCK);

	if (got < 0 && errno == EAGAIN)
		got = getrandom(job_id, sizeof(*job_id), GRND_INSECURE);
	return got == sizeof(*job_id) ? 0 : -1;
}

static enum ina_status host_bootstrap(struct ina_control *control,
                                      const struct ina_settings *settings, int64_t deadline_ms,
                                      struct ina_roster *roster, struct ina_failure *failure)
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

	if (listen_at_root(settings, &listener, &outcome) != INA_OK)
		goto out_free;
	ina_acceptor_open(&g->acceptor, listener, settings->options.peer_timeout_ms);
	gather(g, &outcome);
	if (outcome.status == INA_OK && make_job_id(&roster->job_id) != 0)
		ina_fail(&outcome, INA_ERR_SYSTEM, "no random number for the job: %s",
		         strerror(errno));
	/* Closed before anybody is welcomed, so that a rank's next bootstrap cannot get in here.
	 */
	close(listener);
	welcome_all(g, &outcome);

	ina_acceptor_close(&g->acceptor);
	control->unknown_peers += g->acceptor.unknown_peers;
	for (int i = 0; i < g->extra_count; i++)
		ina_link_close(&g->extras[i]);
out_free:
	free(g);
	return outcome.status == INA_OK ? INA_OK
	                                : ina_fail(failure, outcome.status, "%s", outcome.text);
}

static enum ina_status reach_root(struct ina_link *link, const struct ina_settings *settings,
                                  int64_t deadline_ms, struct ina_failure *failure)
{
	char where[64];

	format_root(settings, where, sizeof(where));
	while (ina_link_connect(link, &settings->root, settings->options.peer_timeout_ms,
	                        deadline_ms) != 0) {
		if (ina_now_ms() >= deadline_ms)
			return ina_fail(failure, INA_ERR_TIMEOUT,
			                "rank 0 could not be reached at %s within %d ms: %s", where,
			                settings->options.open_timeout_ms, strerror(errno));
		poll(NULL, 0, ina_left_ms(deadline_ms, CONNECT_INTERVAL_MS));
	}
	return INA_OK;
}

static enum ina_status await_welcome(struct ina_link *link, const struct ina_settings *settings,
                                     int64_t deadline_ms, struct ina_failure *failure)
{
	char where[64];

	format_root(settings, where, sizeof(where));
	for (;;) {
		struct pollfd fd = {.fd = link->fd, .events = POLLIN};
		enum ina_link_result result = ina_link_read(link);

		if (result == INA_LINK_FRAME && link->in.type == INA_CONTROL_WELCOME)
			return INA_OK;
		if (result == INA_LINK_CLOSED)
			return ina_fail(failure, INA_ERR_PEER,
			                "rank 0 at %s closed the connection during the bootstrap",
			                where);
		if (result != INA_LINK_NOTHING)
			return ina_fail(
			        failure, INA_ERR_MISMATCH,
			        "what answers at %s is not rank 0 of this version of libina",
			        where);
		if (ina_now_ms() >= deadline_ms)
			return ina_fail(failure, INA_ERR_TIMEOUT,
			                "rank 0 at %s did not answer within %d ms", where,
			                settings->options.open_timeout_ms);
		poll(&fd, 1, ina_left_ms(deadline_ms, 1000));
	}
}

static enum ina_status join_bootstrap(struct ina_control *control,
                                      const struct ina_settings *settings,
                                      const struct ina_endpoint *local, int64_t deadline_ms,
                                      struct ina_roster *roster, struct ina_failure *failure)
{
	const struct ina_options *options = &settings->options;
	struct ina_link *link = &control->peers[0].link;
	struct ina_control_frame frame = ina_control_frame(control, INA_CONTROL_HELLO);
	enum ina_status status = reach_root(link, settings, deadline_ms, failure);

	if (status != INA_OK)
		return status;
	frame.hello = (struct ina_hello){
	        .ranks = (uint32_t)options->ranks,
	        .window = options->window,
	        .message_bytes = options->message_bytes,
	        .algorithm = options->algorithm,
	        .patience_ms = (uint32_t)ina_left_ms(deadline_ms, options->open_timeout_ms),
	        .fixed_point = options->fixed_point != 0,
	        .schedule = options->schedule,
	        .endpoint = *local,
	};
	if (ina_link_send(link, &frame, deadline_ms) != 0)
		return ina_fail(failure, INA_ERR_PEER, "rank 0 closed the connection at once");
	/* Longer than rank 0 itself waits: it knows better who is missing. */
	status = await_welcome(link, settings, deadline_ms + GRACE_MS, failure);
	if (status != INA_OK)
		return status;
	if (link->in.welcome.status != INA_OK)
		return ina_fail(failure, link->in.welcome.status, "%s", link->in.welcome.text);
	roster->job_id = link->in.welcome.job_id;
	memcpy(roster->endpoints, link->in.welcome.endpoints, sizeof(roster->endpoints));
	return INA_OK;
}

enum ina_status ina_bootstrap(struct ina_control *control, const struct ina_settings *settings,
                              const struct ina_endpoint *local, int64_t deadline_ms,
                              struct ina_roster *roster, struct ina_failure *failure)
{
	memset(roster, 0, sizeof(*roster));
	if (control->rank == 0) {
		roster->endpoints[0] = *local;
		return host_bootstrap(control, settings, deadline_ms, roster, failure);
	}
	return join_bootstrap(control, settings, local, deadline_ms, roster, failure);
}
