/* SPDX-License-Identifier: Apache-2.0 */
/* The latest events of jobs, when each job began, and a line on stderr for each event. */
#ifndef INA_BRIDGE_HISTORY_H
#define INA_BRIDGE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "sim-bridge/switch/bridge.h"

enum { HISTORY_EVENTS = 128, HISTORY_JOBS = 1024 };

struct history_event {
	uint64_t time_ns;
	unsigned number; /* of the switch */
	struct report_event event;
};

struct history {
	bool has_log;
	uint64_t count; /* events until now; the latest are in `events`, at their numbers modulo its
	                   size */
	struct history_event events[HISTORY_EVENTS];
	struct {
		uint64_t job_id;
		unsigned number;
		uint64_t begin_ns; /* 0: the entry is free */
	} jobs[HISTORY_JOBS];
	/* The log's limit of lines a second. */
	uint64_t second;
	unsigned lines;
};

/* Implements bridge_tell; `context` is the history. */
void history_tell(void *context, const struct bridge *bridge, const struct report_event *event);

/* The time at which the job got its context at switch `number`, or 0 if it is not known. */
uint64_t history_begin(const struct history *history, unsigned number, uint64_t job_id);

/*
 * The latest event of this kind and, unless the id is 0, of this job, at any switch; or NULL. It is
 * valid until the next event.
 */
const struct history_event *history_find(const struct history *history, enum report_kind kind,
                                         uint64_t job_id);

/* A reason as an operator reads it. */
const char *history_reason(enum report_reason reason);

#endif
