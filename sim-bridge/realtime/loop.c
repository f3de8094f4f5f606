/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One iteration waits for events, reads a batch of frames from each port that has some, lets the
 * fabric process them, and sends the frames that leave.
 */
#define _GNU_SOURCE
#include "loop.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/signals.h"
#include "ports.h"

/* epoll tags: the port numbers come first. */
enum {
	TAG_SIGNAL = BRIDGE_PORTS_MAX,
	TAG_TIMER,
	TAG_CHANGES,
	TAG_GUEST,
	TAGS = TAG_GUEST + LOOP_GUESTS_MAX
};

static int watch(struct loop *loop, int operation, int fd, uint32_t events, uint32_t tag)
{
	struct epoll_event event = {.events = events, .data.u32 = tag};

	return epoll_ctl(loop->epoll_fd, operation, fd, &event);
}

/* Monotonic time, shifted once to the Unix epoch, so the times of a capture never go back. */
static uint64_t wall_ns(const struct loop *loop)
{
	return (uint64_t)ina_now_ns() + loop->epoch_ns;
}

/* Returns 0, or -1 with errno. */
static int watch_all(struct loop *loop)
{
	if (watch(loop, EPOLL_CTL_ADD, loop->signal_fd, EPOLLIN, TAG_SIGNAL) != 0 ||
	    watch(loop, EPOLL_CTL_ADD, loop->timer_fd, EPOLLIN, TAG_TIMER) != 0)
		return -1;
	if (loop->changes_fd >= 0 &&
	    watch(loop, EPOLL_CTL_ADD, loop->changes_fd, EPOLLIN, TAG_CHANGES) != 0)
		return -1;
	for (unsigned port = 0; port < loop->port_count; port++)
		if (watch(loop, EPOLL_CTL_ADD, loop->ports[port].fd, EPOLLIN | EPOLLRDHUP, port) !=
		    0)
			return -1;
	return 0;
}

int loop_open(struct loop *loop, struct frame_pool *pool, const int *port_fds,
              const char *const *port_names, unsigned port_count, char *error, size_t error_bytes)
{
	*loop = (struct loop){
	        .pool = pool,
	        .epoch_ns = (uint64_t)(ina_clock_ns(CLOCK_REALTIME) - ina_now_ns()),
	        .port_count = port_count,
	        .open_ports = port_count,
	        .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
	        .signal_fd = ina_signals_open((const int[]){SIGTERM, SIGINT, 0}),
	        .timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
	        .changes_fd = -1,
	        .timer_ns = CALENDAR_NEVER,
	};
	/* Before ports_open() looks at the interfaces, so that no change is missed. */
	for (unsigned port = 0; port < port_count && loop->changes_fd < 0; port++)
		if (port_names[port] && (loop->changes_fd = interfaces_watch()) < 0)
			return -1;
	if (!ports_open(loop->ports, port_fds, port_names, port_count, error, error_bytes))
		return -1;
	if (loop->epoll_fd < 0 || loop->signal_fd < 0 || loop->timer_fd < 0)
		return -1;
	return watch_all(loop);
}

int loop_admit(struct loop *loop, const struct loop_guest *guest)
{
	assert(loop->guest_count < LOOP_GUESTS_MAX);
	loop->guests[loop->guest_count] = *guest;
	return watch(loop, EPOLL_CTL_ADD, guest->fd, EPOLLIN, TAG_GUEST + loop->guest_count++);
}

void loop_close(struct loop *loop)
{
	for (unsigned port = 0; port < loop->port_count; port++)
		port_close(&loop->ports[port]);
	if (loop->changes_fd >= 0)
		close(loop->changes_fd);
	if (loop->timer_fd >= 0)
		close(loop->timer_fd);
	if (loop->signal_fd >= 0)
		close(loop->signal_fd);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
}

bool loop_transmit(void *context, unsigned port, uint64_t time_ns, struct frame *frame)
{
	struct loop *loop = context;

	(void)time_ns; /* the port takes the frame immediately */
	return port_send(&loop->ports[port], frame);
}

/* Sets the timer to the time of the calendar's next event. */
static void set_timer(struct loop *loop)
{
	uint64_t next_ns = calendar_next(&loop->fabric->calendar);
	struct itimerspec timer = {0}; /* disarmed */

	if (next_ns == loop->timer_ns)
		return;
	loop->timer_ns = next_ns;
	if (next_ns != CALENDAR_NEVER) {
		uint64_t now_ns = wall_ns(loop);
		uint64_t wait_ns = next_ns > now_ns ? next_ns - now_ns : 1;

		timer.it_value.tv_sec = (time_t)(wait_ns / 1000000000u);
		timer.it_value.tv_nsec = (long)(wait_ns % 1000000000u);
	}
	timerfd_settime(loop->timer_fd, 0, &timer, NULL);
}

struct input_context {
	struct loop *loop;
	unsigned port;
	uint64_t time_ns; /* of all frames of the batch; 0 before the first one */
};

/* Implements port_take. */
static void take_frame(void *context, struct frame *frame)
{
	struct input_context *from = context;

	if (from->time_ns == 0)
		from->time_ns = wall_ns(from->loop);
	if (inquiry_take(&from->loop->inquiry, from->port, from->time_ns, frame))
		frame_drop(frame);
	else
		fabric_receive(from->loop->fabric, from->port, from->time_ns, frame);
}

static void read_port(struct loop *loop, unsigned port)
{
	struct input_context context = {.loop = loop, .port = port};
	const struct port_input input = {loop->pool, take_frame, &context};

	port_read(&loop->ports[port], &input);
	if (loop->ports[port].is_in_loop)
		port_close(&loop->ports[port]);
}

/* Implements interfaces_change. */
static void follow_change(void *context, const struct interface *changed)
{
	struct loop *loop = context;

	for (unsigned i = 0; i < loop->port_count; i++) {
		const enum ports_event event = ports_follow(&loop->ports[i], i, changed);

		/* As in a real switch, the hosts may have moved. */
		if (event == PORTS_DOWN || event == PORTS_REMOVED)
			fabric_close_host(loop->fabric, i);
		if (event != PORTS_BACK)
			continue;
		loop->is_watching_output[i] = false;
		watch(loop, EPOLL_CTL_ADD, loop->ports[i].fd, EPOLLIN | EPOLLRDHUP, i);
	}
}

/* Looks at all interfaces, because changes were lost. */
static void look_again(struct loop *loop)
{
	for (unsigned i = 0; i < loop->port_count; i++) {
		const struct port *port = &loop->ports[i];
		struct interface now;

		if (!port->kind->is_interface || !port->is_open || port->index < 0)
			continue;
		if (port->index && interfaces_find_index(port->index, &now) != 0) {
			now = (struct interface){.index = port->index, .is_gone = true};
			follow_change(loop, &now);
		}
		if (port->index || interfaces_find(port->name, &now) == 0)
			follow_change(loop, &now);
	}
}

/* Waits for room in a socket only while it is full; otherwise epoll_wait() would never block. */
static void watch_output(struct loop *loop, unsigned port)
{
	bool is_blocked = loop->ports[port].is_blocked;

	if (is_blocked == loop->is_watching_output[port])
		return;
	loop->is_watching_output[port] = is_blocked;
	watch(loop, EPOLL_CTL_MOD, loop->ports[port].fd,
	      EPOLLIN | EPOLLRDHUP | (is_blocked ? EPOLLOUT : 0), port);
}

static void settle_ports(struct loop *loop, const bool *was_open)
{
	for (unsigned i = 0; i < loop->port_count; i++) {
		struct port *port = &loop->ports[i];

		if (!port->is_blocked)
			port_flush(port);
		if (port->is_open) {
			if (port->fd >= 0)
				watch_output(loop, i);
		} else if (was_open[i]) {
			loop->open_ports--;
			fabric_close_host(loop->fabric, i);
		}
	}
}

/* Returns false if a signal has arrived. */
static bool take_events(struct loop *loop, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		uint32_t tag = events[i].data.u32;
		uint64_t expirations;

		if (tag == TAG_SIGNAL)
			return false;
		if (tag == TAG_TIMER) {
			loop->timer_ns = CALENDAR_NEVER;
			(void)!read(loop->timer_fd, &expirations, sizeof(expirations));
			continue;
		}
		if (tag == TAG_CHANGES) {
			if (!interfaces_read(loop->changes_fd, follow_change, loop))
				look_again(loop);
			continue;
		}
		if (tag >= TAG_GUEST) {
			const struct loop_guest *guest = &loop->guests[tag - TAG_GUEST];

			guest->run(guest->context, wall_ns(loop));
			continue;
		}
		if (events[i].events & EPOLLOUT)
			loop->ports[tag].is_blocked = false;
		if (loop->ports[tag].fd >= 0 && events[i].events & ~(uint32_t)EPOLLOUT)
			read_port(loop, tag);
	}
	return true;
}

static void run(struct loop *loop)
{
	bool has_more = false; /* the fabric has work left that needs no new event */

	fabric_start(loop->fabric, wall_ns(loop));
	inquiry_start(&loop->inquiry, wall_ns(loop));
	while (loop->open_ports > 0 && !fabric_error(loop->fabric) && !loop->inquiry.error[0]) {
		struct epoll_event events[TAGS];
		bool was_open[BRIDGE_PORTS_MAX];

		for (unsigned port = 0; port < loop->port_count; port++)
			was_open[port] = loop->ports[port].is_open;
		set_timer(loop);
		int count = epoll_wait(loop->epoll_fd, events, TAGS, has_more ? 0 : -1);
		if (count < 0 && errno != EINTR)
			return;
		bool goes_on = take_events(loop, events, count);
		has_more = fabric_advance(loop->fabric, wall_ns(loop));
		if (!goes_on)
			fabric_finish(loop->fabric);
		settle_ports(loop, was_open);
		if (!goes_on)
			return;
	}
}

void loop_run(struct loop *loop)
{
	loop->inquiry.fabric = loop->fabric;
	loop->inquiry.ports = loop->ports;
	loop->inquiry.pool = loop->pool;
	run(loop);
	for (unsigned port = 0; port < loop->port_count; port++)
		port_count_lost(&loop->ports[port]);
}
