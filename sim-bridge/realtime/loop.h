/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets, signals and the wall clock round a fabric: what drives it in real time. */
#ifndef INA_BRIDGE_LOOP_H
#define INA_BRIDGE_LOOP_H

#include <stdbool.h>

#include "sim-bridge/switch/fabric.h"
#include "port.h"

struct loop {
	struct fabric *fabric;
	struct frame_pool *pool;
	uint64_t epoch_ns; /* of the monotonic clock's 0, since the Unix epoch */
	unsigned port_count;
	unsigned open_ports;
	struct port ports[BRIDGE_PORTS_MAX];
	bool is_watching_output[BRIDGE_PORTS_MAX];
	int epoll_fd;
	int signal_fd;
	int timer_fd;
	uint64_t timer_ns; /* what the timer is set to, or CALENDAR_NEVER */
};

/*
 * Takes the descriptors over, and the signals SIGTERM and SIGINT. 0, or -1 with errno.
 * The caller sets `fabric` before the loop runs.
 */
int loop_open(struct loop *loop, struct frame_pool *pool, const int *port_fds, unsigned port_count);
void loop_close(struct loop *loop);

/* A fabric_transmit; context: the loop. */
bool loop_transmit(void *context, unsigned port, uint64_t time_ns, struct frame *frame);

/* Runs until a signal, or until all ports are closed, or until an aggregator is stuck. */
void loop_run(struct loop *loop);

#endif
