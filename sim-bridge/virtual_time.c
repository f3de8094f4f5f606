/* SPDX-License-Identifier: Apache-2.0 */
/* A frame's way from host to host first, then the hosts' own life, then the run. */
#define _GNU_SOURCE
#include "virtual_time.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "roce.h"

/* Wall-clock time: until the hosts have come, and until one that does not wait is taken to spin. */
#define BOOT_PATIENCE_S 60
#define RUN_PATIENCE_S  20
/* A host says who it is as soon as it has connected. */
#define HELLO_PATIENCE_MS 5000
#define PROGRESS_S        2

/* All start at a whole second: what the hosts did before changes no figure after it. */
#define START_AT_NS 1000000000u

static void stop(struct virtual_time *time)
{
	time->is_over = true;
	time->end_ns = time->now_ns;
}

__attribute__((format(printf, 2, 3))) static void fail(struct virtual_time *time, const char *format,
                                                       ...)
{
	va_list arguments;

	if (time->error[0])
		return;
	va_start(arguments, format);
	vsnprintf(time->error, sizeof(time->error), format, arguments);
	va_end(arguments);
	stop(time);
}

/* False: it has to be dropped. */
static bool plan(struct virtual_time *time, uint64_t time_ns, event_run *run, struct frame *frame,
                 unsigned port)
{
	const struct event event = {
	        .time_ns = time_ns, .run = run, .context = time, .frame = frame, .id = port};

	if (calendar_add(&time->bridge->calendar, &event))
		return true;
	fail(time, "more is under way than the calendar holds");
	return false;
}

static bool is_cut(const struct virtual_time *time, unsigned port)
{
	const struct virtual_faults *faults = &time->config->faults[port];

	return time->start_ns != GUEST_NEVER && faults->cut_ns != GUEST_NEVER &&
	       time->now_ns >= time->start_ns + faults->cut_ns &&
	       time->now_ns - time->start_ns < faults->mend_ns;
}

/* When the host's processor is done with a frame that is there now. */
static uint64_t host_done_ns(struct virtual_time *time, unsigned port, const struct frame *frame)
{
	const double cost_ns =
	        time->config->host_packet_ns + time->config->host_byte_ns * frame->length;

	if (cost_ns == 0)
		return time->now_ns;
	time->busy_until_ns[port] = fmax(time->busy_until_ns[port], (double)time->now_ns) + cost_ns;
	return (uint64_t)ceil(time->busy_until_ns[port]);
}

static void call(struct virtual_time *time, struct guest *guest, unsigned queue)
{
	if (!guest_call(guest, queue, time->now_ns, VIRTUAL_EPOCH_NS))
		fail(time, "host %u does not answer when its network device calls it", guest->port);
}

/* Port -> host. */

/* An event: the frame, of which this is the last one who needs it, is put before the host. */
static void put_before_host(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct virtual_time *time = context;
	struct guest *guest = &time->guests[id];

	time->now_ns = time_ns;
	if (guest->state == GUEST_GONE || is_cut(time, guest->port)) {
		guest->counts.dropped_closed++;
	} else if (!vhost_put(&guest->device, frame)) {
		guest->counts.dropped_queue_full++;
	} else {
		time->frames++;
		guest->counts.tx_frames++;
		guest->counts.tx_bytes += frame->length;
		call(time, guest, VHOST_QUEUE_RX);
	}
	frame_drop(frame);
}

static void arrive_at_host(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct virtual_time *time = context;

	time->now_ns = time_ns;
	uint64_t done_ns = host_done_ns(time, (unsigned)id, frame);
	if (done_ns == time_ns)
		put_before_host(context, time_ns, frame, id);
	else if (!plan(time, done_ns, put_before_host, frame, (unsigned)id))
		frame_drop(frame);
}

bool virtual_time_transmit(void *context, unsigned port, uint64_t time_ns, struct frame *frame)
{
	struct virtual_time *time = context;
	struct wire *wire = &time->wires[port][LINK_DOWN];
	struct guest *guest = &time->guests[port];
	const uint64_t queued = wire_queued_bytes(wire, time_ns);
	uint64_t arrival_ns;

	time->now_ns = time_ns;
	if (guest->state == GUEST_GONE || is_cut(time, port)) {
		guest->counts.dropped_closed++;
	} else if (!wire_send(wire, time_ns, frame->length, &arrival_ns)) {
		guest->counts.dropped_queue_full++;
	} else {
		if (time->config->marking_bytes && queued > time->config->marking_bytes)
			time->marked_frames += roce_mark_congestion(frame);
		if (plan(time, arrival_ns, arrive_at_host, frame, port))
			return true;
	}
	frame_drop(frame);
	return false;
}

/* Host -> switch. */

static void follow_muster(struct virtual_time *time, enum muster_news news);

static void arrive_at_switch(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct virtual_time *time = context;

	time->now_ns = time_ns;
	bridge_receive(time->bridge, (unsigned)id, time_ns, frame);
}

static void send_up(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct virtual_time *time = context;
	uint64_t arrival_ns;

	time->now_ns = time_ns;
	if (is_cut(time, (unsigned)id) ||
	    !wire_send(&time->wires[id][LINK_UP], time_ns, frame->length, &arrival_ns) ||
	    !plan(time, arrival_ns, arrive_at_switch, frame, (unsigned)id))
		frame_drop(frame);
}

static void take_from_host(struct virtual_time *time, unsigned port, struct frame *frame)
{
	struct guest *guest = &time->guests[port];

	if (muster_is_for_us(frame)) {
		follow_muster(time, muster_hear(&time->muster, port, frame));
		frame_drop(frame);
		return;
	}
	time->frames++;
	guest->counts.rx_frames++;
	guest->counts.rx_bytes += frame->length;
	uint64_t done_ns = host_done_ns(time, port, frame);
	if (done_ns == time->now_ns)
		send_up(time, done_ns, frame, port);
	else if (!plan(time, done_ns, send_up, frame, port))
		frame_drop(frame);
}

/* All that a host has sent since it began to run, at the time at which it did. */
static void empty_queue(struct virtual_time *time, unsigned port)
{
	struct guest *guest = &time->guests[port];
	bool dropped, any = false;

	if (guest->state == GUEST_GONE)
		return;
	for (;;) {
		struct frame *frame = vhost_take(&guest->device, time->pool, &dropped);

		if (frame)
			take_from_host(time, port, frame);
		else if (dropped)
			guest->counts.dropped_no_memory++;
		else
			break;
		any = true;
	}
	if (any)
		call(time, guest, VHOST_QUEUE_TX);
	if (guest->device.error) {
		fail(time, "host %u: %s", port, guest->device.error);
		guest_end(guest);
	}
}

/* The hosts' life. */

static void lose_host(struct virtual_time *time, unsigned port)
{
	guest_end(&time->guests[port]);
	bridge_close_port(time->bridge, port);
	follow_muster(time, muster_forget(&time->muster, port));
}

/* An event: power is cut. */
static void kill_host(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct virtual_time *time = context;

	(void)frame;
	time->now_ns = time_ns;
	if (time->guests[id].state != GUEST_GONE)
		lose_host(time, (unsigned)id);
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
		fail(time, "no memory for a frame");
		return;
	}
	muster_write_go(&time->muster, (unsigned)id, frame);
	if (time->guests[id].state != GUEST_GONE && vhost_put(&time->guests[id].device, frame))
		call(time, &time->guests[id], VHOST_QUEUE_RX);
	frame_drop(frame);
}

static void follow_muster(struct virtual_time *time, enum muster_news news)
{
	if (news == MUSTER_ALL_ENDED)
		stop(time);
	if (news != MUSTER_ALL_UP || time->start_ns != GUEST_NEVER)
		return;
	time->start_ns = (time->now_ns / START_AT_NS + 1) * START_AT_NS;
	for (unsigned i = 0; i < time->config->reset_count; i++)
		plan(time, time->start_ns + time->config->resets_ns[i], reset_aggregator, NULL, 0);
	for (unsigned port = 0; port < time->count; port++) {
		const struct virtual_faults *faults = &time->config->faults[port];

		/* Its devices are set up. */
		time->guests[port].may_hurry = true;
		plan(time, time->start_ns + faults->start_delay_ns, let_go, NULL, port);
		if (faults->kill_ns != GUEST_NEVER)
			plan(time, time->start_ns + faults->kill_ns, kill_host, NULL, port);
	}
}

static double wall_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void accept_device(struct virtual_time *time, unsigned port)
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
			fail(time,
			     "host %u has computed for %d s of real time and does not wait: a program "
			     "on it spins, and virtual time stands still. Programs must sleep until "
			     "something happens (ibv_rc_pingpong -e, completion channels)",
			     guest->port, RUN_PATIENCE_S);
		else if (ready[2].revents)
			stop(time);
		else if (ready[0].revents)
			guest_hear_clock(guest, time->now_ns, VIRTUAL_EPOCH_NS);
		else if (ready[1].revents && !vhost_serve(&guest->device))
			guest_end(guest);
		else if (ready[3].revents)
			accept_device(time, guest->port);
	}
	if (guest->state == GUEST_GONE)
		lose_host(time, guest->port);
}

/* The run. */

int virtual_time_open(struct virtual_time *time, const struct virtual_config *config,
                      struct frame_pool *pool, const int *listen_fds, unsigned count)
{
	sigset_t signals;

	*time = (struct virtual_time){
	        .config = config,
	        .pool = pool,
	        .count = count,
	        .start_ns = GUEST_NEVER,
	};
	for (unsigned port = 0; port < count; port++) {
		guest_open(&time->guests[port], port);
		time->listen_fds[port] = listen_fds[port];
		for (unsigned side = 0; side < LINK_SIDES; side++)
			time->wires[port][side] = (struct wire){
			        .bits_per_second = config->link_bits_per_second,
			        .delay_ns = config->link_delay_ns,
			        .limit_bytes = side == LINK_DOWN ? config->queue_bytes : 0,
			};
	}
	muster_open(&time->muster, count);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0)
		return -1;
	time->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return time->signal_fd < 0 ? -1 : 0;
}

void virtual_time_close(struct virtual_time *time)
{
	for (unsigned port = 0; port < time->count; port++) {
		guest_close(&time->guests[port]);
		close(time->listen_fds[port]);
	}
	if (time->signal_fd >= 0)
		close(time->signal_fd);
}

static void accept_clock(struct virtual_time *time)
{
	int fd = accept4(time->config->clock_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0 && !guest_accept_clock(time->guests, time->count, fd, HELLO_PATIENCE_MS))
		close(fd);
}

/* Accepts and serves whoever has something to say. False: nobody had, for too long. */
static bool serve_all(struct virtual_time *time)
{
	struct pollfd ready[2 + 3 * BRIDGE_PORTS_MAX];
	nfds_t count = 0;

	ready[count++] = (struct pollfd){.fd = time->signal_fd, .events = POLLIN};
	ready[count++] = (struct pollfd){.fd = time->config->clock_fd, .events = POLLIN};
	for (unsigned port = 0; port < time->count; port++) {
		const struct guest *guest = &time->guests[port];
		const int fds[] = {time->listen_fds[port], guest->clock_fd, guest->device.fd};

		for (unsigned i = 0; i < 3; i++)
			ready[count++] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	}
	if (poll(ready, count, BOOT_PATIENCE_S * 1000) == 0)
		return false;
	if (ready[0].revents)
		stop(time);
	if (ready[1].revents)
		accept_clock(time);
	for (unsigned port = 0; port < time->count; port++) {
		const struct pollfd *of_port = &ready[2 + 3 * port];
		struct guest *guest = &time->guests[port];

		if (of_port[0].revents)
			accept_device(time, port);
		if (of_port[2].revents && !vhost_serve(&guest->device))
			guest_end(guest);
		if (of_port[1].revents && guest->clock_fd >= 0)
			guest_hear_clock(guest, 0, VIRTUAL_EPOCH_NS);
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
		else if (!serve_all(time))
			fail(time, "host %u has not come within %d s", port, BOOT_PATIENCE_S);
	}
	for (unsigned port = 0; port < time->count; port++) {
		if (time->guests[port].state == GUEST_GONE)
			lose_host(time, port);
		empty_queue(time, port);
	}
}

/* The host that wants to run first, or NULL. */
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

static void run_host(struct virtual_time *time, struct guest *guest)
{
	if (guest->request_ns > time->now_ns)
		time->now_ns = guest->request_ns;
	time->runs++;
	guest_run(guest, time->now_ns);
	settle(time, guest);
	empty_queue(time, guest->port);
}

static void show_progress(const struct virtual_time *time)
{
	static double shown_s;
	const double now_s = wall_s();

	if (!time->config->shows_progress || now_s < shown_s + PROGRESS_S)
		return;
	if (shown_s > 0 && time->start_ns != GUEST_NEVER && time->now_ns > time->start_ns)
		fprintf(stderr, "ina-bridge: virtual time %.6f s, %" PRIu64 " frames\n",
		        (double)(time->now_ns - time->start_ns) * 1e-9, time->frames);
	shown_s = now_s;
}

/* The next thing that happens, in the network or on a host. */
static void go_on(struct virtual_time *time)
{
	struct guest *guest = first_guest(time);
	const uint64_t until_ns = guest ? guest->request_ns : GUEST_NEVER;
	const uint64_t reached_ns = bridge_step(time->bridge, until_ns);

	if (time->bridge->engine && time->bridge->engine->error[0])
		stop(time);
	if (time->is_over)
		return;
	if (reached_ns < until_ns) {
		time->now_ns = reached_ns;
		return;
	}
	/* What has just happened may have woken another. */
	guest = first_guest(time);
	if (guest)
		run_host(time, guest);
	else
		fail(time, "no host has anything to do any more, and nothing is under way");
}

void virtual_time_run(struct virtual_time *time)
{
	struct pollfd ended = {.fd = time->signal_fd, .events = POLLIN};

	wait_for_hosts(time);
	for (unsigned turns = 0; !time->is_over; turns++) {
		go_on(time);
		if (turns % 256 == 0)
			show_progress(time);
	}
	/* Hosts stay up until somebody ends them. */
	if (!time->error[0] && !(time->bridge->engine && time->bridge->engine->error[0]))
		poll(&ended, 1, -1);
}
