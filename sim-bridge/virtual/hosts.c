/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "hosts.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lifecycle.h"
#include "path.h"

/* Real time after which a host that does not wait is said to poll. */
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
		/* The device connects once. */
		int count = poll(ready, guest->device.fd < 0 ? 4 : 3, RUN_PATIENCE_S * 1000);

		if (count == 0)
			virtual_fail(time,
			             "host %u has computed for %d s of real time without waiting: "
			             "a program on it polls, and virtual time stands still. "
			             "Programs must sleep until something happens "
			             "(ibv_rc_pingpong -e, completion channels)",
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
