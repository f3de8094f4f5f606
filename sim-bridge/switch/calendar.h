/* SPDX-License-Identifier: Apache-2.0 */
/* What will happen, and when. Events of the same time happen in the order of their entry. */
#ifndef INA_BRIDGE_CALENDAR_H
#define INA_BRIDGE_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#include "frame_pool.h"

struct event;

/* `time_ns`: when it was to happen. A frame's reference passes to the callee. */
typedef void event_run(void *context, uint64_t time_ns, struct frame *frame, uint64_t id);

struct event {
	uint64_t time_ns;
	uint64_t number; /* of entries */
	event_run *run;
	void *context;
	struct frame *frame; /* or NULL */
	uint64_t id;         /* the callee's */
};

struct calendar {
	/* The earliest first: heap[i] is before heap[2i + 1] and heap[2i + 2]. */
	struct event *heap;
	unsigned count;
	unsigned capacity;
	uint64_t entries;
};

#define CALENDAR_NEVER UINT64_MAX

/* 0, or -1 with errno ENOMEM. */
int calendar_open(struct calendar *calendar, unsigned capacity);

/* Gives the frames of all events back. */
void calendar_close(struct calendar *calendar);

/* False, and nothing entered, if it is full. */
bool calendar_add(struct calendar *calendar, const struct event *event);

/* Time of the earliest event, or CALENDAR_NEVER. */
uint64_t calendar_next(const struct calendar *calendar);

/* Lets everything happen that is due by `time_ns`, also what is entered meanwhile. */
void calendar_run(struct calendar *calendar, uint64_t time_ns);

#endif
