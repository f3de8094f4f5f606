/* SPDX-License-Identifier: Apache-2.0 */
/* A connection between every two ranks. */
#include "mesh.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/deadline.h"
#include "acceptor.h"
#include "hostlib/control/agreement.h"

#define TICK_MS 200

enum ina_status ina_mesh_listen(int *listener, uint16_t *port, struct ina_failure *failure)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	socklen_t size = sizeof(any);

	*listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*listener < 0 || bind(*listener, (struct sockaddr *)&any, size) != 0 ||
	    listen(*listener, INA_MAX_RANKS) != 0 ||
	    getsockname(*listener, (struct sockaddr *)&any, &size) != 0) {
		ina_fail(failure, INA_ERR_SYSTEM, "no port to wait at for other ranks: %s",
		         strerror(errno));
		if (*listener >= 0)
			close(*listener);
		*listener = -1;
		return failure->status;
	}
	*port = any.sin_port;
	return INA_OK;
}

/* Its kernel answers, whether it has come to wait for this rank or not. */
static enum ina_status reach(struct ina_control *control, int rank, const struct ina_roster *roster,
                             int peer_timeout_ms, int64_t deadline_ms, struct ina_failure *failure)
{
	const struct ina_endpoint *endpoint = &roster->endpoints[rank];
	struct ina_control_frame frame = ina_control_frame(control, INA_CONTROL_GREETING);
	struct ina_link *link = &control->peers[rank].link;
	struct sockaddr_in to = {.sin_family = AF_INET,
	                         .sin_addr.s_addr = endpoint->address,
	                         .sin_port = endpoint->tcp_port};
	char host[INET_ADDRSTRLEN];

	frame.greeting = roster->job_id;
	if (ina_link_connect(link, &to, peer_timeout_ms, deadline_ms) == 0 &&
	    ina_link_send(link, &frame, deadline_ms) == 0)
		return INA_OK;
	return ina_fail(failure, INA_ERR_TIMEOUT,
	                "rank %d could not be reached at TCP port %u of %s: %s; a firewall must "
	                "let all ranks connect to each other",
	                rank, ntohs(to.sin_port),
	                inet_ntop(AF_INET, &to.sin_addr, host, sizeof(host)), strerror(errno));
}

/* Who has come to the acceptor. Returns how many of the ranks above this one. */
static int take_visitors(struct ina_control *control, struct ina_acceptor *acceptor,
                         uint64_t job_id)
{
	struct ina_link *visitor;
	int come = 0;

	while ((visitor = ina_acceptor_next(acceptor, INA_CONTROL_GREETING)) != NULL) {
		uint32_t rank = visitor->in.rank;

		if (visitor->in.greeting != job_id || rank <= (uint32_t)control->rank ||
		    rank >= (uint32_t)control->ranks || control->peers[rank].link.fd >= 0)
			continue;
		control->peers[rank].link = *visitor;
		visitor->fd = -1;
		come++;
	}
	return come;
}

static enum ina_status await_higher(struct ina_control *control, struct ina_acceptor *acceptor,
                                    uint64_t job_id, int64_t deadline_ms,
                                    struct ina_failure *failure)
{
	int missing = control->ranks - 1 - control->rank;
	unsigned char who[INA_MAX_RANKS] = {0};
	char names[200];

	for (;;) {
		struct pollfd fds[INA_ACCEPTOR_PLACES + 1 + INA_MAX_RANKS];
		int count;

		missing -= take_visitors(control, acceptor, job_id);
		if (missing == 0)
			return INA_OK;
		if (ina_now_ms() >= deadline_ms)
			break;
		if (ina_open_failed_elsewhere(control, failure))
			return failure->status;
		count = ina_acceptor_pollfds(acceptor, fds);
		count += ina_control_pollfds(control, fds + count);
		poll(fds, (nfds_t)count, ina_left_ms(deadline_ms, TICK_MS));
	}
	for (int r = control->rank + 1; r < control->ranks; r++)
		who[r] = control->peers[r].link.fd < 0;
	ina_list_ranks(names, sizeof(names), who, control->ranks);
	return ina_fail(failure, INA_ERR_TIMEOUT, "%s did not connect in time", names);
}

enum ina_status ina_mesh_connect(struct ina_control *control, const struct ina_roster *roster,
                                 int listener, int peer_timeout_ms, int64_t deadline_ms,
                                 struct ina_failure *failure)
{
	struct ina_acceptor *acceptor;

	failure->status = INA_OK;
	if (control->rank == 0)
		return INA_OK;
	for (int r = 1; r < control->rank; r++) {
		if (reach(control, r, roster, peer_timeout_ms, deadline_ms, failure) != INA_OK)
			return failure->status;
	}
	acceptor = malloc(sizeof(*acceptor));
	if (!acceptor)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for connections to ranks");
	ina_acceptor_open(acceptor, listener, peer_timeout_ms);
	await_higher(control, acceptor, roster->job_id, deadline_ms, failure);
	ina_acceptor_close(acceptor);
	control->unknown_peers += acceptor->unknown_peers;
	free(acceptor);
	return failure->status;
}
