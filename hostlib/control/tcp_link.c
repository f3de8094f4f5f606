/* SPDX-License-Identifier: Apache-2.0 */
/* Frames over TCP. */
#include "tcp_link.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/interrupted.h"

#define SEND_TIMEOUT_MS 5000

/*
 * The interval of keepalive probes in seconds; the latest answer of the other host's kernel may be
 * this old.
 */
#define PROBE_S 1

static_assert(sizeof(struct ina_control_frame) < 1500, "a frame fits a packet");

/* The bytes that every frame has. */
#define HEADER_BYTES offsetof(struct ina_control_frame, credential)

int ina_link_prepare(int fd, int peer_timeout_ms)
{
	int one = 1;
	/*
	 * The other host's kernel answers probes, whatever its processes do. Linux ends an idle
	 * connection at the first probe after TCP_USER_TIMEOUT, counted from the latest answer.
	 * While a frame is unacknowledged, Linux sends no probes, and counts from the frame's first
	 * retransmission instead. In that case ina_link_is_silent() notices the silence earlier.
	 */
	int interval_s = PROBE_S;
	int longest_ms = INT_MAX - PROBE_S * 1000;
	int timeout_ms =
	        (peer_timeout_ms < longest_ms ? peer_timeout_ms : longest_ms) + PROBE_S * 1000;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
		return -1;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &interval_s, sizeof(interval_s)) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s)) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms)) != 0)
		return -1;
	return 0;
}

static bool is_status(uint32_t status)
{
	return status <= INA_ERR_ABORTED; /* the last status of ina.h */
}

static bool is_call(const struct ina_call *call)
{
	return call->kind <= INA_CALL_CLOSE;
}

static bool are_calls(const struct ina_calls *calls)
{
	if (calls->count > INA_CALLED_MAX)
		return false;
	for (uint32_t i = 0; i < calls->count; i++) {
		if (!is_call(&calls->called[i].current) || !is_call(&calls->called[i].previous))
			return false;
	}
	return true;
}

/*
 * Frames come from outside. Before any code uses a number as an enum or an index, check that it is
 * a value of that enum or within its limits. Also terminate the texts.
 */
static bool is_sound(struct ina_control_frame *frame)
{
	switch (frame->type) {
	case INA_CONTROL_HELLO:
		frame->hello.text[INA_CONTROL_TEXT - 1] = '\0';
		return is_status(frame->hello.status);
	case INA_CONTROL_GREETING: /* only compared with the expected values */
	case INA_CONTROL_CHALLENGE:
	case INA_CONTROL_QUERY:
	case INA_CONTROL_GATHERED: /* every set of ranks is valid */
		return true;
	case INA_CONTROL_ANSWER:
		frame->answer.text[INA_CONTROL_TEXT - 1] = '\0';
		return is_status(frame->answer.status) && frame->answer.admission <= INA_PUT_OFF;
	case INA_CONTROL_WELCOME:
		frame->welcome.text[INA_CONTROL_TEXT - 1] = '\0';
		return is_status(frame->welcome.status) && frame->welcome.first < INA_MAX_RANKS &&
		       frame->welcome.count <= INA_WELCOME_ENDPOINTS;
	case INA_CONTROL_VOTES:
		frame->votes.text[INA_CONTROL_TEXT - 1] = '\0';
		return is_status(frame->votes.status) && are_calls(&frame->votes.calls);
	case INA_CONTROL_DECISION:
	case INA_CONTROL_DIAGNOSIS:
	case INA_CONTROL_FAREWELL:
		frame->decision.text[INA_CONTROL_TEXT - 1] = '\0';
		return is_status(frame->decision.status);
	case INA_CONTROL_STALL:
		return is_call(&frame->stall.call) && frame->stall.is_all <= 1;
	case INA_CONTROL_FAULTS:
		frame->faults.text[INA_CONTROL_TEXT - 1] = '\0';
		return is_status(frame->faults.status) && is_call(&frame->faults.call) &&
		       are_calls(&frame->faults.calls) && frame->faults.owner < INA_MAX_RANKS;
	case INA_CONTROL_NEWS:
		frame->news.text[INA_CONTROL_TEXT - 1] = '\0';
		return is_status(frame->news.status);
	case INA_CONTROL_PLAN:
		return frame->plan.owner < INA_MAX_RANKS && frame->plan.from <= frame->plan.until;
	default:
		return false;
	}
}

/* Checks the bytes of the magic that have arrived. */
static enum ina_link_result check_magic(const struct ina_link *link)
{
	const uint64_t magic = INA_CONTROL_MAGIC;
	const size_t name = sizeof(magic) - 1;

	if (memcmp(&link->in, &magic, link->in_bytes < name ? link->in_bytes : name) != 0)
		return INA_LINK_GARBAGE;
	if (link->in_bytes > name && link->in.magic != magic)
		return INA_LINK_VERSION;
	return INA_LINK_FRAME;
}

/* The number of bytes to wait for, as far as it is known; 0 if the frame's length is invalid. */
static size_t due_bytes(const struct ina_link *link)
{
	if (link->in_bytes < HEADER_BYTES)
		return HEADER_BYTES;
	return link->in.bytes >= HEADER_BYTES && link->in.bytes <= sizeof(link->in) ? link->in.bytes
	                                                                            : 0;
}

enum ina_link_result ina_link_read(struct ina_link *link)
{
	enum ina_link_result result;

	while (link->in_bytes < due_bytes(link)) {
		ssize_t got;

		INA_UNINTERRUPTED(got, recv(link->fd, (char *)&link->in + link->in_bytes,
		                            due_bytes(link) - link->in_bytes, 0));
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return INA_LINK_NOTHING;
		if (got <= 0)
			return INA_LINK_CLOSED;
		link->in_bytes += (size_t)got;
		result = check_magic(link);
		if (result != INA_LINK_FRAME)
			return result;
	}
	if (due_bytes(link) == 0)
		return INA_LINK_GARBAGE;
	memset((char *)&link->in + link->in_bytes, 0, sizeof(link->in) - link->in_bytes);
	link->in_bytes = 0;
	link->in.bytes = 0;
	return is_sound(&link->in) ? INA_LINK_FRAME : INA_LINK_GARBAGE;
}

int ina_link_send(struct ina_link *link, const struct ina_control_frame *frame, int64_t deadline_ms)
{
	struct ina_control_frame out = *frame;
	size_t bytes = sizeof(out);
	size_t sent = 0;

	while (bytes > HEADER_BYTES && ((const char *)&out)[bytes - 1] == 0)
		bytes--;
	out.bytes = (uint16_t)bytes;
	while (sent < bytes) {
		ssize_t n;

		INA_UNINTERRUPTED(
		        n, send(link->fd, (const char *)&out + sent, bytes - sent, MSG_NOSIGNAL));
		if (n > 0) {
			sent += (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			return -1;
		struct pollfd fd = {.fd = link->fd, .events = POLLOUT};
		int left_ms = ina_left_ms(deadline_ms, SEND_TIMEOUT_MS);

		if (left_ms == 0 || ina_poll(&fd, 1, left_ms) < 0)
			return -1;
	}
	return 0;
}

bool ina_link_is_silent(const struct ina_link *link)
{
	struct tcp_info info = {0};
	socklen_t info_size = sizeof(info);
	uint32_t timeout_ms = 0;
	socklen_t size = sizeof(timeout_ms);
	uint32_t silent_ms;

	if (getsockopt(link->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, &size) != 0 ||
	    getsockopt(link->fd, IPPROTO_TCP, TCP_INFO, &info, &info_size) != 0)
		return false;
	/* An emulator may give less than Linux does. */
	if (info_size <
	    offsetof(struct tcp_info, tcpi_last_ack_recv) + sizeof(info.tcpi_last_ack_recv))
		return false;
	silent_ms = info.tcpi_last_ack_recv < info.tcpi_last_data_recv ? info.tcpi_last_ack_recv
	                                                               : info.tcpi_last_data_recv;
	return timeout_ms > 0 && silent_ms >= timeout_ms;
}

bool ina_link_is_idle(const struct ina_link *link)
{
	int bytes = 0;

	return ioctl(link->fd, SIOCOUTQ, &bytes) == 0 && bytes == 0;
}

/*
 * If no process listens at a port from the range for callers, the kernel may have given this port
 * to the caller itself. TCP's simultaneous open then connects the caller to itself.
 */
static bool is_own_end(int fd)
{
	struct sockaddr_in here = {0};
	struct sockaddr_in there = {0};
	socklen_t size = sizeof(here);

	if (getsockname(fd, (struct sockaddr *)&here, &size) != 0 || size > sizeof(here))
		return false;
	size = sizeof(there);
	if (getpeername(fd, (struct sockaddr *)&there, &size) != 0 || size > sizeof(there))
		return false;
	return here.sin_port == there.sin_port && here.sin_addr.s_addr == there.sin_addr.s_addr;
}

static int give_up(struct ina_link *link, int error)
{
	ina_link_close(link);
	errno = error;
	return -1;
}

static int listen_at(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Connections that have just ended keep no port. Two ranks may not choose the same one. */
	int reuse = address->sin_port != 0;
	int error;

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)) == 0 &&
	    bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 &&
	    listen(fd, INA_MAX_RANKS) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

int ina_link_listen(const struct sockaddr_in *first, int count)
{
	struct sockaddr_in at = *first;
	int fd = -1;

	for (int i = 0; i < count && fd < 0; i++) {
		at.sin_port = htons((uint16_t)(ntohs(first->sin_port) + i));
		fd = listen_at(&at);
	}
	return fd;
}

int ina_link_call(struct ina_link *link, const struct sockaddr_in *to)
{
	link->in_bytes = 0;
	link->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (link->fd < 0)
		return -1;
	if (connect(link->fd, (const struct sockaddr *)to, sizeof(*to)) == 0 ||
	    errno == EINPROGRESS)
		return 0;
	return give_up(link, errno);
}

int ina_link_finish_call(struct ina_link *link, int peer_timeout_ms)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	if (error == 0 && is_own_end(link->fd))
		error = ECONNREFUSED;
	if (error == 0 && ina_link_prepare(link->fd, peer_timeout_ms) != 0)
		error = errno;
	return error == 0 ? 0 : give_up(link, error);
}

void ina_link_close(struct ina_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
}
