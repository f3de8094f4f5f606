/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap. If two events have the same time, the one that was entered first comes first. */
#include <stdlib.h>

#include "common/random.h"
#include "bed.h"

static bool is_before(const struct event *a, const struct event *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void bed_at(struct bed *bed, uint64_t time, act *act, void *who, uint32_t argument,
            struct frame *frame)
{
	struct calendar *calendar = &bed->calendar;

	if (calendar->count == calendar->room) {
		calendar->room = calendar->room ? 2 * calendar->room : 1024;
		calendar->events =
		        realloc(calendar->events, calendar->room * sizeof(*calendar->events));
		if (!calendar->events)
			abort();
	}
	struct event event = {time, calendar->order++, act, who, argument, frame};
	unsigned at = calendar->count++;

	for (; at > 0 && is_before(&event, &calendar->events[(at - 1) / 2]); at = (at - 1) / 2)
		calendar->events[at] = calendar->events[(at - 1) / 2];
	calendar->events[at] = event;
}

static struct event take_first(struct calendar *calendar)
{
	struct event *events = calendar->events, first = events[0];
	struct event last = events[--calendar->count];
	unsigned at = 0;

	for (unsigned child = 1; child < calendar->count; child = 2 * at + 1) {
		if (child + 1 < calendar->count && is_before(&events[child + 1], &events[child]))
			child++;
		if (!is_before(&events[child], &last))
			break;
		events[at] = events[child];
		at = child;
	}
	events[at] = last;
	return first;
}

void bed_run(struct bed *bed, uint64_t until)
{
	for (;;) {
		unsigned over = 0;

		for (unsigned i = 0; i < bed->job_count; i++)
			over += bed->jobs[i].is_over;
		if (over == bed->job_count || bed->calendar.count == 0)
			return;
		struct event event = take_first(&bed->calendar);
		bed->now = event.time;
		if (bed->now > until) {
			if (event.frame)
				frame_free(bed, event.frame);
			return;
		}
		event.act(bed, event.who, event.argument, event.frame);
	}
}

uint32_t bed_below(struct bed *bed, uint32_t bound)
{
	return (uint32_t)((ina_random(&bed->random) >> 32) * bound >> 32);
}

bool bed_chance(struct bed *bed, unsigned of_a_million)
{
	return of_a_million && bed_below(bed, 1000000) < of_a_million;
}
