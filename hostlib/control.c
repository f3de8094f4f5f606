/* SPDX-License-Identifier: Apache-2.0 */
/* The control channel: frames over TCP, and where they go. */
#include "control.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

#define SEND_TIMEOUT_MS 5000

static_assert(sizeof(struct ina_control_frame) < 1500, "a frame fits a packet");

int ina_link_prepare(int fd, int peer_timeout_ms)
{
	int one = 1;
	/*
	 * The other host's kernel answers probes, whatever its processes do: one each quarter of
	 * peer_timeout_ms. Linux ends an idle connection at the first probe behind
	 * TCP_USER_TIMEOUT. Where something was sent and not acknowledged it counts from the first
	 * time that this is sent again, up to 1.5 s after the other host was heard last (a stall is
	 * told after one). Five eighths keep both within peer_timeout_ms.
	 */
	int interval_s = peer_timeout_ms / 4000 > 0 ? peer_timeout_ms / 4000 : 1;
	int probes = 3;
	unsigned int timeout_ms = (unsigned int)((int64_t)peer_timeout_ms * 5 / 8);
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
		return -1;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &interval_s, sizeof(interval_s)) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s)) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes)) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms)) != 0)
		return -1;
	return 0;
}

/* Texts come from outside: they end where they must. */
static void terminate_text(struct ina_control_frame *frame)
{
	switch (frame->type) {
	case INA_CONTROL_WELCOME:
		frame->welcome.text[INA_CONTROL_TEXT - 1] = '\0';
		break;
	case INA_CONTROL_REPORT:
		frame->report.text[INA_CONTROL_TEXT - 1] = '\0';
		break;
	case INA_CONTROL_DECISION:
	case INA_CONTROL_VERDICT:
		frame->decision.text[INA_CONTROL_TEXT - 1] = '\0';
		break;
	case INA_CONTROL_FAULT:
		frame->fault.text[INA_CONTROL_TEXT - 1] = '\0';
		break;
	default:
		break;
	}
}

enum ina_link_result ina_link_read(struct ina_link *link)
{
	const uint64_t magic = INA_CONTROL_MAGIC;

	if (link->in_bytes == sizeof(link->in))
		link->in_bytes = 0;
	while (link->in_bytes < sizeof(link->in)) {
		ssize_t got = recv(link->fd, (char *)&link->in + link->in_bytes,
		                   sizeof(link->in) - link->in_bytes, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return INA_LINK_NOTHING;
		if (got <= 0)
			return INA_LINK_CLOSED;
		link->in_bytes += (size_t)got;
		if (memcmp(&link->in, &magic,
		           link->in_bytes < sizeof(magic) ? link->in_bytes : sizeof(magic)) != 0)
			return INA_LINK_GARBAGE;
	}
	if (link->in.type < INA_CONTROL_HELLO || link->in.type >= INA_CONTROL_TYPES_END)
		return INA_LINK_GARBAGE;
	terminate_text(&link->in);
	return INA_LINK_FRAME;
}

int ina_link_send(struct ina_link *link, struct ina_control_frame *frame, int64_t deadline_ms)
{
	size_t sent = 0;

	while (sent < sizeof(*frame)) {
		ssize_t n =
		        send(link->fd, (char *)frame + sent, sizeof(*frame) - sent, MSG_NOSIGNAL);

		if (n > 0) {
			sent += (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			return -1;
		struct pollfd fd = {.fd = link->fd, .events = POLLOUT};
		int left_ms = ina_left_ms(deadline_ms, SEND_TIMEOUT_MS);

		if (left_ms == 0 || poll(&fd, 1, left_ms) < 0)
			return -1;
	}
	return 0;
}

void ina_link_close(struct ina_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
}

enum ina_status ina_control_init(struct ina_control *control, int rank, int ranks,
                                 struct ina_failure *failure)
{
	memset(control, 0, sizeof(*control));
	control->rank = rank;
	control->ranks = ranks;
	control->peers = calloc(rank == 0 ? (size_t)ranks : 1, sizeof(*control->peers));
	if (!control->peers)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for the control channel");
	control->peer_count = rank == 0 ? ranks : 1;
	for (int i = 0; i < control->peer_count; i++)
		control->peers[i].link.fd = -1;
	return INA_OK;
}

void ina_control_close(struct ina_control *control)
{
	for (int i = 0; i < control->peer_count; i++)
		ina_link_close(&control->peers[i].link);
	free(control->peers);
	control->peers = NULL;
	control->peer_count = 0;
}

struct ina_control_frame ina_control_frame(const struct ina_control *control,
                                           enum ina_control_type type)
{
	return (struct ina_control_frame){
	        .magic = INA_CONTROL_MAGIC,
	        .type = type,
	        .rank = (uint32_t)control->rank,
	};
}

void ina_control_send(struct ina_control *control, int peer, struct ina_control_frame *frame)
{
	struct ina_peer *to = &control->peers[peer];

	if (to->link.fd < 0 || to->gone)
		return;
	if (ina_link_send(&to->link, frame, ina_now_ms() + SEND_TIMEOUT_MS) != 0)
		to->gone = true;
}

void ina_control_broadcast(struct ina_control *control, struct ina_control_frame *frame)
{
	for (int i = 0; i < control->peer_count; i++)
		ina_control_send(control, i, frame);
}

static void take_frame(struct ina_control *control, int index)
{
	struct ina_peer *peer = &control->peers[index];
	const struct ina_control_frame *frame = &peer->link.in;
	bool root = control->rank == 0;

	switch (frame->type) {
	case INA_CONTROL_REPORT:
		peer->has_report = root;
		peer->report = frame->report;
		break;
	case INA_CONTROL_STALL:
		peer->has_stall = root;
		peer->stall = frame->stall;
		break;
	case INA_CONTROL_FAULT:
		peer->has_fault = root;
		peer->fault = frame->fault;
		break;
	case INA_CONTROL_DECISION:
		control->has_decision = !root;
		control->decision = frame->decision;
		break;
	case INA_CONTROL_QUERY:
		control->asked = !root;
		break;
	case INA_CONTROL_VERDICT:
		control->has_verdict = !root;
		control->verdict = frame->decision;
		break;
	case INA_CONTROL_PLAN: /* the answer to the reports that were asked for */
		control->has_plan = !root;
		control->plan = frame->plan;
		control->asked = false;
		break;
	default: /* HELLO and WELCOME belong to the rendezvous, which is over */
		break;
	}
}

int ina_control_pollfds(const struct ina_control *control, struct pollfd *fds)
{
	int count = 0;

	for (int i = 0; i < control->peer_count; i++) {
		if (control->peers[i].link.fd >= 0 && !control->peers[i].gone)
			fds[count++] =
			        (struct pollfd){.fd = control->peers[i].link.fd, .events = POLLIN};
	}
	return count;
}

void ina_control_pump(struct ina_control *control, int timeout_ms)
{
	struct pollfd fds[INA_MAX_RANKS];
	int count = ina_control_pollfds(control, fds);

	if (poll(fds, (nfds_t)count, timeout_ms) <= 0)
		return;
	for (int i = 0; i < control->peer_count; i++) {
		struct ina_peer *peer = &control->peers[i];
		enum ina_link_result result = INA_LINK_NOTHING;

		if (peer->link.fd < 0 || peer->gone)
			continue;
		while ((result = ina_link_read(&peer->link)) == INA_LINK_FRAME)
			take_frame(control, i);
		if (result == INA_LINK_CLOSED || result == INA_LINK_GARBAGE)
			peer->gone = true;
		control->news = true;
	}
}
