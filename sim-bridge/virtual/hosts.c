/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "hosts.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lifecycle.h"
#include "path.h"

/* A host that runs for this long, in real time, without waiting is assumed to poll. */
#define RUN_PATIENCE_S 20

void virtual_accept_device(struct virtual_time *time, unsigned port)
{
	const uint8_t mac[6] = {2, 0, 0, 0, (uint8_t)((port + 1) >> 8), (uint8_t)(port + 1)};
	int fd = accept4(time->listen_fds[port], NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (time->guests[port].device.fd >= 0)
		close(fd); /* one host, one device */
	else
		vhost_open(&time->guests[port].device, fd, mac);
}

/* Descriptors to wait for: first the signals, then two for each host. */
enum { POLLED_FIRST = 1, POLLED_A_HOST = 2 };

/* Waits for a message from one of the `count` hosts. Returns how many of them still run. */
static unsigned wait_for_running(struct virtual_time *time, unsigned count)
{
	struct pollfd *ready = time->polled;
	const struct guest *busy = NULL;
	unsigned running = 0;

	ready[0] = (struct pollfd){.fd = time->signal_fd, .events = POLLIN};
	for (unsigned i = 0; i < count; i++) {
		const struct guest *guest = time->running[i];
		const bool runs = guest->state == GUEST_RUNNING;
		/* The device connects once. */
		const int fds[] = {guest->clock_fd, guest->device.fd < 0
		                                            ? time->listen_fds[guest->port]
		                                            : guest->device.fd};

		for (unsigned k = 0; k < POLLED_A_HOST; k++)
			ready[POLLED_FIRST + POLLED_A_HOST * i + k] =
			        (struct pollfd){.fd = runs ? fds[k] : -1, .events = POLLIN};
		if (runs && running++ == 0)
			busy = guest;
	}
	if (running > 0 &&
	    poll(ready, POLLED_FIRST + POLLED_A_HOST * count, RUN_PATIENCE_S * 1000) == 0)
		virtual_fail(time,
		             "host %u has computed for %d s of real time without waiting: "
		             "a program on it polls, and virtual time stands still. "
		             "Programs must sleep until something happens "
		             "(ibv_rc_pingpong -e, completion channels)",
		             busy->port, RUN_PATIENCE_S);
	return running;
}

static void serve(struct virtual_time *time, struct guest *guest, const struct pollfd *ready)
{
	if (ready[0].revents)
		guest_hear_clock(guest, time->now_ns, VIRTUAL_EPOCH_NS);
	else if (ready[1].revents && guest->device.fd < 0)
		virtual_accept_device(time, guest->port);
	else if (ready[1].revents && !vhost_serve(&guest->device))
		guest_end(guest);
}

/* Serves the first `count` hosts of the list, which run, until all of them wait. */
static void settle(struct virtual_time *time, unsigned count)
{
	while (!time->is_over && wait_for_running(time, count) > 0 && !time->is_over) {
		if (time->polled[0].revents)
			virtual_stop(time);
		for (unsigned i = 0; i < count && !time->is_over; i++)
			serve(time, time->running[i],
			      &time->polled[POLLED_FIRST + POLLED_A_HOST * i]);
	}
	for (unsigned i = 0; i < count; i++)
		if (time->running[i]->state == GUEST_GONE)
			virtual_lose_host(time, time->running[i]->port);
}

/*
 * Lists the hosts to run now. Before the common start, these are all hosts that want to run at this
 * time: they boot in step and in parallel, and frames that they send arrive later. After it, each
 * host runs alone, on one processor, because turns are shorter that way.
 */
static unsigned list_those_due(struct virtual_time *time, struct guest *first)
{
	unsigned count = 0;

	if (time->start_ns != GUEST_NEVER) {
		time->running[0] = first;
		return 1;
	}
	for (unsigned port = 0; port < time->count; port++) {
		struct guest *guest = &time->guests[port];

		if (guest->state == GUEST_WAITING && guest->request_ns <= time->now_ns)
			time->running[count++] = guest;
	}
	return count;
}

void virtual_run_hosts(struct virtual_time *time, struct guest *first)
{
	if (first->request_ns > time->now_ns)
		time->now_ns = first->request_ns;
	const unsigned count = list_those_due(time, first);

	time->runs += count;
	for (unsigned i = 0; i < count; i++)
		guest_run(time->running[i], time->now_ns);
	settle(time, count);
	for (unsigned i = 0; i < count; i++)
		virtual_empty_queue(time, time->running[i]->port);
}
