/* SPDX-License-Identifier: Apache-2.0 */
/* Future events in the order of time. Events of the same time happen in the order of entry. */
#ifndef INA_BRIDGE_CALENDAR_H
#define INA_BRIDGE_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#include "frame_pool.h"

struct event;

/* `time_ns`: the event's own time. The frame's reference passes to the callee. */
typedef void event_run(void *context, uint64_t time_ns, struct frame *frame, uint64_t id);

struct event {
	uint64_t time_ns;
	uint64_t number; /* its place in the order of entry */
	event_run *run;
	void *context;
	struct frame *frame; /* or NULL */
	uint64_t id;         /* passed to `run` */
};

struct calendar {
	/* The earliest event is the first: heap[i] comes before heap[2i + 1] and heap[2i + 2]. */
	struct event *heap;
	unsigned count;
	unsigned capacity;
	uint64_t entries;
};

#define CALENDAR_NEVER UINT64_MAX

/* Returns 0, or -1 with errno ENOMEM. */
int calendar_open(struct calendar *calendar, unsigned capacity);

/* Drops the frames of all events, and frees the calendar. */
void calendar_close(struct calendar *calendar);

/* Returns false, and enters nothing, if the calendar is full. */
bool calendar_add(struct calendar *calendar, const struct event *event);

/* The time of the earliest event, or CALENDAR_NEVER. */
uint64_t calendar_next(const struct calendar *calendar);

/* Runs all events that are due by `time_ns`, including those that are entered in the process. */
void calendar_run(struct calendar *calendar, uint64_t time_ns);

#endif
