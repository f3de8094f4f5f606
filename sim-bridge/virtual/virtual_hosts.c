/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: the hosts' life from their start to their end, and what befalls them. */
#define _GNU_SOURCE
#include "virtual_parts.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* Real time until a host that does not wait is taken to spin. */
#define RUN_PATIENCE_S 20

/* All start at a whole second: what the hosts did before changes no figure after it. */
#define START_AT_NS 1000000000u

void virtual_lose_host(struct virtual_time *time, unsigned port)
{
	guest_end(&time->guests[port]);
	bridge_close_port(time->bridge, port);
	virtual_follow_muster(time, muster_forget(&time->muster, port));
}

/* An event: power is cut. */
static void kill_host(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct virtual_time *time = context;

	(void)frame;
	time->now_ns = time_ns;
	if (time->guests[id].state != GUEST_GONE)
		virtual_lose_host(time, (unsigned)id);
}

/* An event. */
static void reset_aggregator(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct virtual_time *time = context;

	(void)frame;
	(void)id;
	time->now_ns = time_ns;
	if (time->bridge->engine)
		bridge_reset_engine(time->bridge);
}

/* An event: a host that is up may start its command. */
static void let_go(void *context, uint64_t time_ns, struct frame *none, uint64_t id)
{
	struct virtual_time *time = context;
	struct frame *frame = frame_new(time->pool);

	(void)none;
	time->now_ns = time_ns;
	if (!frame) {
		virtual_fail(time, "no memory for a frame");
		return;
	}
	muster_write_go(&time->muster, (unsigned)id, frame);
	if (time->guests[id].state != GUEST_GONE && vhost_put(&time->guests[id].device, frame))
		virtual_call(time, &time->guests[id], VHOST_QUEUE_RX);
	frame_drop(frame);
}

void virtual_follow_muster(struct virtual_time *time, enum muster_news news)
{
	if (news == MUSTER_ALL_ENDED)
		virtual_stop(time);
	if (news != MUSTER_ALL_UP || time->start_ns != GUEST_NEVER)
		return;
	time->start_ns = (time->now_ns / START_AT_NS + 1) * START_AT_NS;
	for (unsigned i = 0; i < time->config->reset_count; i++)
		virtual_plan(time, time->start_ns + time->config->resets_ns[i], reset_aggregator,
		             NULL, 0);
	for (unsigned port = 0; port < time->count; port++) {
		const struct virtual_faults *faults = &time->config->faults[port];

		/* Its devices are set up. */
		time->guests[port].may_hurry = true;
		virtual_plan(time, time->start_ns + faults->start_delay_ns, let_go, NULL, port);
		if (faults->kill_ns != GUEST_NEVER)
			virtual_plan(time, time->start_ns + faults->kill_ns, kill_host, NULL, port);
	}
}

void virtual_call(struct virtual_time *time, struct guest *guest, unsigned queue)
{
	if (!guest_call(guest, queue, time->now_ns, VIRTUAL_EPOCH_NS))
		virtual_fail(time, "host %u does not answer when its network device calls it",
		             guest->port);
}

void virtual_accept_device(struct virtual_time *time, unsigned port)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)(port + 1)};
	int fd = accept4(time->listen_fds[port], NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (time->guests[port].device.fd >= 0)
		close(fd); /* one host, one device */
	else
		vhost_open(&time->guests[port].device, fd, mac);
}

/* Serves a host that runs until it waits. */
static void settle(struct virtual_time *time, struct guest *guest)
{
	while (guest->state == GUEST_RUNNING && !time->is_over) {
		struct pollfd ready[] = {
		        {.fd = guest->clock_fd, .events = POLLIN},
		        {.fd = guest->device.fd, .events = POLLIN},
		        {.fd = time->signal_fd, .events = POLLIN},
		        {.fd = time->listen_fds[guest->port], .events = POLLIN},
		};
		/* It connects its device once. */
		int count = poll(ready, guest->device.fd < 0 ? 4 : 3, RUN_PATIENCE_S * 1000);

		if (count == 0)
			virtual_fail(time,
			             "host %u has computed for %d s of real time and does not "
			             "wait: a program "
			             "on it spins, and virtual time stands still. Programs must "
			             "sleep until "
			             "something happens (ibv_rc_pingpong -e, completion channels)",
			             guest->port, RUN_PATIENCE_S);
		else if (ready[2].revents)
			virtual_stop(time);
		else if (ready[0].revents)
			guest_hear_clock(guest, time->now_ns, VIRTUAL_EPOCH_NS);
		else if (ready[1].revents && !vhost_serve(&guest->device))
			guest_end(guest);
		else if (ready[3].revents)
			virtual_accept_device(time, guest->port);
	}
	if (guest->state == GUEST_GONE)
		virtual_lose_host(time, guest->port);
}

void virtual_run_host(struct virtual_time *time, struct guest *guest)
{
	if (guest->request_ns > time->now_ns)
		time->now_ns = guest->request_ns;
	time->runs++;
	guest_run(guest, time->now_ns);
	settle(time, guest);
	virtual_empty_queue(time, guest->port);
}
