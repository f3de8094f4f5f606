/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes a run, and lets one thing happen after the other. */
#define _GNU_SOURCE
#include "virtual_time.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/signals.h"
#include "hosts.h"
#include "lifecycle.h"
#include "path.h"

/* Real time within which all hosts must connect, and a connection must introduce its host. */
#define BOOT_PATIENCE_S   60
#define HELLO_PATIENCE_MS 5000
/* Real time to wait if no host wants to run: a user may be ending hosts one after the other. */
#define DEADLOCK_PATIENCE_S 2
#define PROGRESS_S          2

/* Descriptors to wait for: POLLED for the whole run, and POLLED_A_PORT for each host. */
enum { POLLED = 2, POLLED_A_PORT = 3 };

int virtual_time_open(struct virtual_time *time, const struct virtual_config *config,
                      struct frame_pool *pool, const int *listen_fds, unsigned count)
{
	*time = (struct virtual_time){
	        .config = config,
	        .pool = pool,
	        .count = count,
	        .start_ns = GUEST_NEVER,
	        .signal_fd = -1,
	        .end_fd = -1,
	};
	time->guests = calloc(count, sizeof(*time->guests));
	time->busy_until_ns = calloc(count, sizeof(*time->busy_until_ns));
	time->listen_fds = calloc(count, sizeof(*time->listen_fds));
	time->running = calloc(count, sizeof(struct guest *));
	time->polled = calloc(POLLED + POLLED_A_PORT * count, sizeof(*time->polled));
	if (muster_open(&time->muster, count) != 0 || !time->guests || !time->busy_until_ns ||
	    !time->listen_fds || !time->running || !time->polled) {
		time->count = 0;
		return -1;
	}
	for (unsigned port = 0; port < count; port++) {
		guest_open(&time->guests[port], port);
		time->listen_fds[port] = listen_fds[port];
	}
	time->signal_fd = ina_signals_open((const int[]){SIGTERM, SIGINT, 0});
	time->end_fd = ina_signals_open((const int[]){SIGUSR1, 0});
	return time->signal_fd < 0 || time->end_fd < 0 ? -1 : 0;
}

void virtual_time_close(struct virtual_time *time)
{
	for (unsigned port = 0; port < time->count; port++) {
		guest_close(&time->guests[port]);
		close(time->listen_fds[port]);
	}
	if (time->signal_fd >= 0)
		close(time->signal_fd);
	if (time->end_fd >= 0)
		close(time->end_fd);
	muster_close(&time->muster);
	free(time->guests);
	free(time->busy_until_ns);
	free(time->listen_fds);
	free(time->running);
	free(time->polled);
}

static void accept_clock(struct virtual_time *time)
{
	int fd = accept4(time->config->clock_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0 && !guest_accept_clock(time->guests, time->count, fd, HELLO_PATIENCE_MS))
		close(fd);
}

/* Accepts connections and serves messages. Returns false if none came in time. */
static bool serve_all(struct virtual_time *time, int timeout_ms)
{
	struct pollfd *ready = time->polled;
	nfds_t count = 0;

	ready[count++] = (struct pollfd){.fd = time->signal_fd, .events = POLLIN};
	ready[count++] = (struct pollfd){.fd = time->config->clock_fd, .events = POLLIN};
	for (unsigned port = 0; port < time->count; port++) {
		const struct guest *guest = &time->guests[port];
		const int fds[] = {time->listen_fds[port], guest->clock_fd, guest->device.fd};

		for (unsigned i = 0; i < POLLED_A_PORT; i++)
			ready[count++] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	}
	if (poll(ready, count, timeout_ms) == 0)
		return false;
	if (ready[0].revents)
		virtual_stop(time);
	if (ready[1].revents)
		accept_clock(time);
	for (unsigned port = 0; port < time->count; port++) {
		const struct pollfd *of_port = &ready[POLLED + POLLED_A_PORT * port];
		struct guest *guest = &time->guests[port];

		if (of_port[0].revents)
			virtual_accept_device(time, port);
		if (of_port[2].revents && !vhost_serve(&guest->device))
			guest_end(guest);
		if (of_port[1].revents && guest->clock_fd >= 0)
			guest_hear_clock(guest, time->now_ns, VIRTUAL_EPOCH_NS);
	}
	return true;
}

/* Time begins when all hosts wait for it. */
static void wait_for_hosts(struct virtual_time *time)
{
	for (unsigned port = 0; port < time->count && !time->is_over;) {
		const enum guest_state state = time->guests[port].state;

		if (state == GUEST_WAITING || state == GUEST_GONE)
			port++;
		else if (!serve_all(time, BOOT_PATIENCE_S * 1000))
			virtual_fail(time, "host %u has not connected within %d s", port,
			             BOOT_PATIENCE_S);
	}
	for (unsigned port = 0; port < time->count; port++) {
		if (time->guests[port].state == GUEST_GONE)
			virtual_lose_host(time, port);
		virtual_empty_queue(time, port);
	}
}

/* Returns the host that wants to run first, or NULL. */
static struct guest *first_guest(struct virtual_time *time)
{
	struct guest *first = NULL;

	for (unsigned port = 0; port < time->count; port++) {
		struct guest *guest = &time->guests[port];

		if (guest->state == GUEST_WAITING && guest->request_ns != GUEST_NEVER &&
		    (!first || guest->request_ns < first->request_ns))
			first = guest;
	}
	return first;
}

/* Reads the share of the work done, as the program wrote it ("42%"), or sets an empty string. */
static void read_share(const char *path, char *text, int size)
{
	FILE *file = path ? fopen(path, "re") : NULL;

	if (!file || !fgets(text, size, file))
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (file)
		fclose(file);
}

static void show_progress(struct virtual_time *time)
{
	char share[16];
	const double now_s = ina_now_s();

	if (!time->config->shows_progress || now_s < time->shown_s + PROGRESS_S)
		return;
	if (time->shown_s > 0 && time->start_ns != GUEST_NEVER && time->now_ns > time->start_ns) {
		read_share(time->config->share_path, share, sizeof(share));
		fprintf(stderr, "ina-bridge: virtual time %.6f s, %" PRIu64 " frames%s%s%s\n",
		        (double)(time->now_ns - time->start_ns) * 1e-9, time->frames,
		        share[0] ? "," : "", share, share[0] ? " of the work done" : "");
	}
	time->shown_s = now_s;
}

/*
 * Used while no host wants to run. The bridge notices in a host's turn that the host has ended; if
 * one is ended from outside before its next turn, this function notices it. Returns false if no
 * message came.
 */
static bool hear_of_ends(struct virtual_time *time, int timeout_ms)
{
	if (!serve_all(time, timeout_ms))
		return false;
	for (unsigned port = 0; port < time->count; port++)
		if (time->guests[port].state == GUEST_GONE)
			virtual_lose_host(time, port);
	return true;
}

/* Runs the next event, in the network or on a host. */
static void go_on(struct virtual_time *time)
{
	struct guest *guest = first_guest(time);

	if (!guest && hear_of_ends(time, 0))
		return;
	const uint64_t until_ns = guest ? guest->request_ns : GUEST_NEVER;
	const uint64_t reached_ns = fabric_step(time->fabric, until_ns);

	if (fabric_error(time->fabric))
		virtual_stop(time);
	if (time->is_over)
		return;
	if (reached_ns < until_ns) {
		time->now_ns = reached_ns;
		return;
	}
	/* The events just run may have woken another host. */
	guest = first_guest(time);
	if (guest)
		virtual_run_hosts(time, guest);
	else if (!hear_of_ends(time, DEADLOCK_PATIENCE_S * 1000))
		virtual_fail(time,
		             "deadlock: every host waits for a frame, but no frame is in flight");
}

void virtual_time_run(struct virtual_time *time)
{
	struct pollfd ended[] = {{.fd = time->signal_fd, .events = POLLIN},
	                         {.fd = time->end_fd, .events = POLLIN}};

	wait_for_hosts(time);
	for (unsigned turns = 0; !time->is_over; turns++) {
		go_on(time);
		if (turns % 256 == 0)
			show_progress(time);
	}
	/* The hosts stay up until a signal: SIGUSR1 says that they are no longer needed. */
	if (!time->error[0] && !fabric_error(time->fabric))
		poll(ended, 2, -1);
}
