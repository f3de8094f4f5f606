/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes many frames with one system call (recvmmsg, sendmmsg). */
#define _GNU_SOURCE
#include "socket_port.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

bool socket_port_is_usable(int fd, bool is_virtual, char *error, size_t error_bytes)
{
	int domain, type, listens;
	socklen_t length = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0) {
		snprintf(error, error_bytes, "descriptor %d is not an open socket: %s", fd,
		         strerror(errno));
		return false;
	}
	if (is_virtual) {
		if (domain == AF_UNIX && type == SOCK_STREAM && listens)
			return true;
		snprintf(error, error_bytes,
		         "descriptor %d is not a listening Unix socket of type SOCK_STREAM, which "
		         "--virtual-time needs",
		         fd);
		return false;
	}
	if (domain != AF_UNIX || (type != SOCK_SEQPACKET && type != SOCK_DGRAM)) {
		snprintf(error, error_bytes,
		         "descriptor %d is not a Unix socket of type SOCK_SEQPACKET or SOCK_DGRAM",
		         fd);
		return false;
	}
	return true;
}

static bool open_socket(struct port *port, char *error, size_t error_bytes)
{
	(void)error;
	(void)error_bytes;
	port_enlarge_buffers(port->fd);
	return true;
}

/* After a SOCK_SEQPACKET has ended, reading it returns empty datagrams without end. */
static bool has_hung_up(const struct port *port)
{
	struct pollfd poll_of = {.fd = port->fd, .events = POLLRDHUP};

	return poll(&poll_of, 1, 0) == 1 && poll_of.revents & (POLLRDHUP | POLLHUP | POLLERR);
}
/* Points the messages at free frames of the pool. Returns the number of frames. */
static unsigned prepare(struct frame_pool *pool, struct frame **frames, struct mmsghdr *messages,
                        struct iovec *pieces)
{
	unsigned count = 0;

	memset(messages, 0, PORT_BATCH_FRAMES * sizeof(*messages));
	while (count < PORT_BATCH_FRAMES && (frames[count] = frame_new(pool)) != NULL) {
		pieces[count].iov_base = frames[count]->bytes;
		pieces[count].iov_len = FRAME_BYTES_MAX;
		messages[count].msg_hdr.msg_iov = &pieces[count];
		messages[count].msg_hdr.msg_iovlen = 1;
		count++;
	}
	return count;
}

/* If no frame is free, still reads one datagram; otherwise epoll would report it without end. */
static bool read_and_drop(struct port *port)
{
	char byte;
	ssize_t length = recv(port->fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC);

	if (length > 0)
		port->counts.dropped_no_memory++;
	return length > 0 || (length == 0 ? !has_hung_up(port) : port_is_later(errno));
}

static bool receive(struct port *port, const struct port_input *input)
{
	struct frame *frames[PORT_BATCH_FRAMES];
	struct mmsghdr messages[PORT_BATCH_FRAMES];
	struct iovec pieces[PORT_BATCH_FRAMES];
	unsigned prepared = prepare(input->pool, frames, messages, pieces), i = 0;

	if (prepared == 0)
		return read_and_drop(port);
	int count = recvmmsg(port->fd, messages, prepared, MSG_DONTWAIT, NULL);
	bool is_there = count >= 0 || port_is_later(errno);
	for (; (int)i < count; i++) {
		if (messages[i].msg_len == 0 && has_hung_up(port)) {
			is_there = false;
			break;
		}
		port_take_frame(port, input, frames[i], messages[i].msg_len,
		                messages[i].msg_hdr.msg_flags & MSG_TRUNC);
	}
	for (; i < prepared; i++)
		frame_drop(frames[i]);
	return is_there;
}

static int send_frames(struct port *port, struct frame *const *frames, unsigned count)
{
	return port_send_messages(port, NULL, 0, frames, count);
}

const struct port_kind socket_port = {
        .open = open_socket,
        .receive = receive,
        .send = send_frames,
};
