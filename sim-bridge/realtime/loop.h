/* SPDX-License-Identifier: Apache-2.0 */
/* Drives a fabric in real time, from its ports, signals and the wall clock. */
#ifndef INA_BRIDGE_LOOP_H
#define INA_BRIDGE_LOOP_H

#include <stdbool.h>

#include "sim-bridge/switch/fabric.h"
#include "inquiry.h"
#include "port.h"

enum { LOOP_GUESTS_MAX = 3 };

/* A part of the program that the loop runs when its descriptor is readable. */
struct loop_guest {
	int fd;
	void (*run)(void *context, uint64_t time_ns);
	void *context;
};

struct loop {
	struct fabric *fabric;
	struct frame_pool *pool;
	uint64_t epoch_ns; /* add it to monotonic time to get time since the Unix epoch */
	unsigned port_count;
	unsigned open_ports;
	struct port ports[BRIDGE_PORTS_MAX];
	bool is_watching_output[BRIDGE_PORTS_MAX];
	struct inquiry inquiry;
	int epoll_fd;
	int signal_fd;
	int timer_fd;
	int changes_fd; /* of interfaces; -1 if no port is one */
	struct loop_guest guests[LOOP_GUESTS_MAX];
	unsigned guest_count;
	uint64_t timer_ns; /* the time for which the timer is set, or CALENDAR_NEVER */
};

/*
 * The ports are those of ports_open(). Takes ownership of the descriptors, and receives the signals
 * SIGTERM and SIGINT from then on. Returns 0, or -1 with errno; if a port is the reason, `error`
 * has one line. The caller sets `fabric` before loop_run(), and, if the bridge has an uplink, the
 * inquiry's `uplink` and `first_number`.
 */
int loop_open(struct loop *loop, struct frame_pool *pool, const int *port_fds,
              const char *const *port_names, unsigned port_count, char *error, size_t error_bytes);
void loop_close(struct loop *loop);

/*
 * Takes at most LOOP_GUESTS_MAX guests, which keep ownership of their descriptors. Returns 0, or -1
 * with errno.
 */
int loop_admit(struct loop *loop, const struct loop_guest *guest);

/* Implements fabric_transmit; `context` is the loop. */
bool loop_transmit(void *context, unsigned port, uint64_t time_ns, struct frame *frame);

/*
 * Runs until a signal arrives, all ports are closed, an aggregator is stuck, or the inquiry has an
 * error. A network interface that is down or was removed does not count as closed.
 */
void loop_run(struct loop *loop);

#endif
