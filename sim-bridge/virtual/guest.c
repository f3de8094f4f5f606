/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the calendar's side of um_timetravel.h. Where that header leaves something open, the
 * code follows arch/um/kernel/time.c.
 */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/um_timetravel.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/rights.h"

/* In real time; a guest that waits normally answers immediately. */
#define CALL_PATIENCE_MS 20000

void guest_open(struct guest *guest, unsigned port)
{
	*guest = (struct guest){
	        .port = port,
	        .clock_fd = -1,
	        .request_ns = GUEST_NEVER,
	        .device = {.fd = -1, .call_fd = -1},
	};
}

void guest_close(struct guest *guest)
{
	if (guest->clock_fd >= 0)
		close(guest->clock_fd);
	guest->clock_fd = -1;
	vhost_close(&guest->device);
}

void guest_end(struct guest *guest)
{
	guest->state = GUEST_GONE;
	guest->request_ns = GUEST_NEVER;
	guest_close(guest);
}

static bool receive(int fd, struct um_timetravel_msg *message)
{
	ssize_t got;

	do
		got = recv(fd, message, sizeof(*message), MSG_WAITALL);
	while (got < 0 && errno == EINTR);
	return got == sizeof(*message);
}

static bool send_message(int fd, uint32_t operation, uint32_t number, uint64_t time_ns)
{
	const struct um_timetravel_msg message = {.op = operation, .seq = number, .time = time_ns};

	return send(fd, &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message);
}

/*
 * Linux 6.12 takes two descriptors from the first ACK and closes them, whether or not they were
 * sent: without them it closes two of the host's. Earlier releases read only the bytes.
 */
static bool send_first_ack(int fd, uint32_t number)
{
	const struct um_timetravel_msg message = {.op = UM_TIMETRAVEL_ACK, .seq = number};
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int fds[] = {null, null};

	if (null < 0)
		return false;
	const bool sent = ina_rights_send(fd, &message, sizeof(message), fds, 2);
	close(null);
	return sent;
}

bool guest_accept_clock(struct guest *guests, unsigned count, int fd, int patience_ms)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	struct um_timetravel_msg message;

	if (poll(&readable, 1, patience_ms) != 1 || !receive(fd, &message) ||
	    message.op != UM_TIMETRAVEL_START || message.time >= count ||
	    guests[message.time].state != GUEST_ABSENT)
		return false;
	guests[message.time].clock_fd = fd;
	guests[message.time].state = GUEST_RUNNING;
	return send_first_ack(fd, message.seq);
}

/* Answers every message with the time, although only some messages ask for it. */
static bool answer(struct guest *guest, const struct um_timetravel_msg *message, uint64_t now_ns,
                   uint64_t epoch_ns)
{
	if (!guest->is_ahead)
		return send_message(guest->clock_fd, UM_TIMETRAVEL_ACK, message->seq,
		                    message->op == UM_TIMETRAVEL_GET_TOD ? epoch_ns + now_ns
		                                                         : now_ns);
	guest->is_ahead = message->op != UM_TIMETRAVEL_WAIT;
	return !guest->is_ahead ||
	       send_message(guest->clock_fd, UM_TIMETRAVEL_ACK, message->seq + 1, now_ns);
}

void guest_hear_clock(struct guest *guest, uint64_t now_ns, uint64_t epoch_ns)
{
	struct um_timetravel_msg message;

	if (!receive(guest->clock_fd, &message)) {
		guest_end(guest);
		return;
	}
	if (message.op == UM_TIMETRAVEL_ACK) /* of a message that guest_run() sent */
		return;
	guest->heard = message.seq;
	if (message.op == UM_TIMETRAVEL_REQUEST)
		guest->request_ns = message.time < INT64_MAX ? message.time : GUEST_NEVER;
	else if (message.op == UM_TIMETRAVEL_WAIT)
		guest->state = GUEST_WAITING;
	if (!answer(guest, &message, now_ns, epoch_ns))
		guest_end(guest);
}

void guest_run(struct guest *guest, uint64_t now_ns)
{
	const struct um_timetravel_msg messages[] = {
	        {.op = UM_TIMETRAVEL_FREE_UNTIL, .time = now_ns + 1},
	        {.op = UM_TIMETRAVEL_RUN, .time = now_ns},
	        {.op = UM_TIMETRAVEL_ACK, .seq = guest->heard + 1, .time = now_ns},
	};
	const size_t bytes = guest->may_hurry ? sizeof(messages) : 2 * sizeof(messages[0]);

	guest->state = GUEST_RUNNING;
	guest->request_ns = GUEST_NEVER;
	guest->is_called = false;
	guest->is_ahead = guest->may_hurry;
	if (send(guest->clock_fd, messages, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
		guest_end(guest);
}

bool guest_call(struct guest *guest, unsigned queue, uint64_t now_ns, uint64_t epoch_ns)
{
	if (guest->is_called || !vhost_wants_call(&guest->device, queue))
		return true;
	if (!vhost_call(&guest->device, queue))
		guest_end(guest);
	while (guest->state != GUEST_GONE && !guest->is_called) {
		struct pollfd ready[] = {
		        {.fd = guest->clock_fd, .events = POLLIN},
		        {.fd = guest->device.call_fd, .events = POLLIN},
		};

		if (poll(ready, 2, CALL_PATIENCE_MS) == 0)
			return false;
		/* Before it answers, it asks for time, unless it has already done so. */
		if (ready[0].revents)
			guest_hear_clock(guest, now_ns, epoch_ns);
		else if (vhost_called(&guest->device))
			guest->is_called = true;
		else
			guest_end(guest);
	}
	return true;
}
