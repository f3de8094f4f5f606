/* SPDX-License-Identifier: Apache-2.0 */
/* The counters by HTTP, for Prometheus: GET /metrics. Nothing here waits. */
#ifndef INA_BRIDGE_METRICS_H
#define INA_BRIDGE_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "view.h"

struct MHD_Daemon;

struct metrics {
	struct view view;
	struct MHD_Daemon *daemon;
	int timer_fd;
	int epoll_fd; /* readable if metrics_run() has work */
};

void metrics_init(struct metrics *metrics);

/*
 * After metrics_init(): listens at [ADDRESS:]PORT, an IPv4 address, which is 127.0.0.1 if it is
 * left out. Returns false, with one line in `error`, if it cannot. The caller then sets `view`.
 */
bool metrics_open(struct metrics *metrics, const char *where, char *error, size_t error_bytes);

/* Also after metrics_init() alone, or if metrics_open() failed. */
void metrics_close(struct metrics *metrics);

/* Serves all clients as far as possible without waiting. `context` is the struct metrics. */
void metrics_run(void *context, uint64_t time_ns);

#endif
