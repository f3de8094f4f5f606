/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes many frames with one system call (recvmmsg, sendmmsg). */
#define _GNU_SOURCE
#include "port.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SOCKET_BUFFER_BYTES = 8 << 20 };

bool port_is_usable(int fd, bool is_virtual, char *error, size_t error_bytes)
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

void port_open(struct port *port, int fd)
{
	int bytes = SOCKET_BUFFER_BYTES;

	*port = (struct port){.fd = fd, .is_open = true};
	/* Asks for this size; a smaller buffer costs only speed. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) != 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static struct frame **queue_slot(struct port *port, uint32_t index)
{
	return &port->queue[index & (PORT_QUEUE_FRAMES - 1)];
}

void port_close(struct port *port)
{
	if (!port->is_open)
		return;
	while (port->head != port->tail) {
		port->counts.dropped_closed++;
		frame_drop(*queue_slot(port, port->head++));
	}
	close(port->fd);
	port->is_open = false;
}

/* True for an error that only says: nothing to read, or no room to send, at the moment. */
static bool is_later(int error)
{
	return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
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
static void read_and_drop(struct port *port)
{
	char byte;
	ssize_t length = recv(port->fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC);

	if (length > 0)
		port->counts.dropped_no_memory++;
	else if (length == 0 ? has_hung_up(port) : !is_later(errno))
		port_close(port);
}

/* Drops and counts datagrams that are not Ethernet frames. */
static bool is_good(struct port *port, const struct mmsghdr *message)
{
	if (message->msg_hdr.msg_flags & MSG_TRUNC) {
		port->counts.dropped_giant++;
		return false;
	}
	if (message->msg_len < FRAME_BYTES_MIN) {
		port->counts.dropped_runt++;
		return false;
	}
	port->counts.rx_frames++;
	port->counts.rx_bytes += message->msg_len;
	return true;
}

unsigned port_read(struct port *port, struct frame_pool *pool,
                   struct frame *frames[PORT_BATCH_FRAMES])
{
	struct mmsghdr messages[PORT_BATCH_FRAMES];
	struct iovec pieces[PORT_BATCH_FRAMES];
	unsigned prepared = prepare(pool, frames, messages, pieces);
	unsigned kept = 0;

	if (prepared == 0) {
		read_and_drop(port);
		return 0;
	}
	int count = recvmmsg(port->fd, messages, prepared, MSG_DONTWAIT, NULL);
	bool is_ended = count < 0 && !is_later(errno);
	for (int i = 0; i < count; i++) {
		if (messages[i].msg_len == 0 && has_hung_up(port)) {
			is_ended = true;
			break;
		}
		if (!is_good(port, &messages[i]))
			continue;
		struct frame *frame = frames[i];

		frame->length = messages[i].msg_len;
		frames[i] = frames[kept];
		frames[kept++] = frame;
	}
	for (unsigned i = kept; i < prepared; i++)
		frame_drop(frames[i]);
	if (is_ended)
		port_close(port);
	return kept;
}

bool port_send(struct port *port, struct frame *frame)
{
	if (!port->is_open) {
		port->counts.dropped_closed++;
		frame_drop(frame);
		return false;
	}
	if (port->tail - port->head == PORT_QUEUE_FRAMES) {
		port->counts.dropped_queue_full++;
		frame_drop(frame);
		return false;
	}
	*queue_slot(port, port->tail++) = frame;
	return true;
}

/* Sends one batch. Returns the number of frames sent, or -1 with errno. */
static int send_batch(struct port *port)
{
	struct mmsghdr messages[PORT_BATCH_FRAMES];
	struct iovec pieces[PORT_BATCH_FRAMES];
	unsigned count = port->tail - port->head;

	if (count > PORT_BATCH_FRAMES)
		count = PORT_BATCH_FRAMES;
	memset(messages, 0, count * sizeof(*messages));
	for (unsigned i = 0; i < count; i++) {
		struct frame *frame = *queue_slot(port, port->head + i);

		pieces[i] = (struct iovec){.iov_base = frame->bytes, .iov_len = frame->length};
		messages[i].msg_hdr.msg_iov = &pieces[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	return sendmmsg(port->fd, messages, count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void port_flush(struct port *port)
{
	while (port->is_open && port->head != port->tail) {
		int sent = send_batch(port);

		if (sent < 0 && is_later(errno)) {
			port->is_blocked = errno != EINTR;
			return;
		}
		if (sent < 0 && (errno == EMSGSIZE || errno == ENOBUFS || errno == ENOMEM)) {
			port->counts.dropped_send_error++;
			frame_drop(*queue_slot(port, port->head++));
			continue;
		}
		if (sent < 0) {
			port_close(port);
			return;
		}
		for (int i = 0; i < sent; i++) {
			struct frame *frame = *queue_slot(port, port->head++);

			port->counts.tx_frames++;
			port->counts.tx_bytes += frame->length;
			frame_drop(frame);
		}
	}
	port->is_blocked = false;
}
