/* SPDX-License-Identifier: Apache-2.0 */
/* The queue and the counters of a port of any kind. */
#define _GNU_SOURCE
#include "port.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SOCKET_BUFFER_BYTES = 8 << 20 };

bool port_is_later(int error)
{
	return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

static void enlarge(int fd, int by_force, int within_limits)
{
	const int bytes = SOCKET_BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, by_force, &bytes, sizeof(bytes)) != 0)
		(void)setsockopt(fd, SOL_SOCKET, within_limits, &bytes, sizeof(bytes));
}

void port_enlarge_buffers(int fd)
{
	enlarge(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	enlarge(fd, SO_RCVBUFFORCE, SO_RCVBUF);
}

static struct frame **queue_slot(struct port *port, uint32_t index)
{
	return &port->queue[index & (PORT_QUEUE_FRAMES - 1)];
}

static void drop_queue(struct port *port)
{
	while (port->head != port->tail) {
		port->counts.dropped_closed++;
		frame_drop(*queue_slot(port, port->head++));
	}
	port->is_blocked = false;
}

void port_count_lost(struct port *port)
{
	if (port->fd >= 0 && port->kind->count_lost)
		port->kind->count_lost(port);
}

void port_detach(struct port *port)
{
	drop_queue(port);
	if (port->fd < 0)
		return;
	port_count_lost(port);
	if (port->kind->close)
		port->kind->close(port);
	close(port->fd);
	port->fd = -1;
}

void port_close(struct port *port)
{
	if (!port->is_open)
		return;
	port_detach(port);
	port->is_open = false;
}

void port_set_up(struct port *port, bool is_up)
{
	port->is_up = is_up;
	if (!is_up)
		drop_queue(port);
}

void port_take_frame(struct port *port, const struct port_input *input, struct frame *frame,
                     unsigned length, bool is_cut_off)
{
	if (is_cut_off)
		port->counts.dropped_giant++;
	else if (length < FRAME_BYTES_MIN)
		port->counts.dropped_runt++;
	if (is_cut_off || length < FRAME_BYTES_MIN) {
		frame_drop(frame);
		return;
	}
	port->counts.rx_frames++;
	port->counts.rx_bytes += length;
	frame->length = length;
	input->take(input->context, frame);
}

void port_read(struct port *port, const struct port_input *input)
{
	if (!port->kind->receive(port, input))
		port_close(port);
}

bool port_send(struct port *port, struct frame *frame)
{
	if (!port->is_open || !port->is_up) {
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

int port_send_messages(struct port *port, void *heads, size_t head_bytes,
                       struct frame *const *frames, unsigned count)
{
	struct mmsghdr messages[PORT_BATCH_FRAMES];
	struct iovec pieces[PORT_BATCH_FRAMES][2];

	memset(messages, 0, count * sizeof(*messages));
	for (unsigned i = 0; i < count; i++) {
		pieces[i][0] = (struct iovec){(uint8_t *)heads + i * head_bytes, head_bytes};
		pieces[i][1] = (struct iovec){frames[i]->bytes, frames[i]->length};
		messages[i].msg_hdr.msg_iov = pieces[i];
		messages[i].msg_hdr.msg_iovlen = 2;
	}
	return sendmmsg(port->fd, messages, count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Sends one batch. Returns the number of frames sent, or -1 with errno. */
static int send_batch(struct port *port)
{
	struct frame *frames[PORT_BATCH_FRAMES];
	unsigned count = 0;

	while (count < PORT_BATCH_FRAMES && port->head + count != port->tail) {
		frames[count] = *queue_slot(port, port->head + count);
		count++;
	}
	return port->kind->send(port, frames, count);
}

/* True if an error of send() concerns only the first frame. */
static bool is_of_frame(const struct port *port, int error)
{
	return port->kind->is_interface || error == EMSGSIZE || error == ENOBUFS || error == ENOMEM;
}

void port_flush(struct port *port)
{
	while (port->fd >= 0 && port->head != port->tail) {
		int sent = send_batch(port);

		if (sent < 0 && port_is_later(errno)) {
			port->is_blocked = errno != EINTR;
			return;
		}
		if (sent < 0 && is_of_frame(port, errno)) {
			port->counts.dropped_send_error++;
			port->refused_mtu = port->mtu;
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
