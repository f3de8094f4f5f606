/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap in an array of fixed size. */
#include "calendar.h"

#include <stdlib.h>

int calendar_open(struct calendar *calendar, unsigned capacity)
{
	*calendar = (struct calendar){.capacity = capacity};
	calendar->heap = calloc(capacity, sizeof(*calendar->heap));
	return calendar->heap ? 0 : -1;
}

void calendar_close(struct calendar *calendar)
{
	for (unsigned i = 0; i < calendar->count; i++)
		if (calendar->heap[i].frame)
			frame_drop(calendar->heap[i].frame);
	free(calendar->heap);
	*calendar = (struct calendar){0};
}

static bool is_before(const struct event *a, const struct event *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

bool calendar_add(struct calendar *calendar, const struct event *event)
{
	if (calendar->count == calendar->capacity)
		return false;
	struct event entry = *event;
	unsigned at = calendar->count++;

	entry.number = calendar->entries++;
	while (at > 0 && is_before(&entry, &calendar->heap[(at - 1) / 2])) {
		calendar->heap[at] = calendar->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	calendar->heap[at] = entry;
	return true;
}

uint64_t calendar_next(const struct calendar *calendar)
{
	return calendar->count ? calendar->heap[0].time_ns : CALENDAR_NEVER;
}

static struct event take_first(struct calendar *calendar)
{
	struct event first = calendar->heap[0];
	struct event last = calendar->heap[--calendar->count];
	unsigned at = 0;

	for (;;) {
		unsigned child = 2 * at + 1;

		if (child >= calendar->count)
			break;
		if (child + 1 < calendar->count &&
		    is_before(&calendar->heap[child + 1], &calendar->heap[child]))
			child++;
		if (is_before(&last, &calendar->heap[child]))
			break;
		calendar->heap[at] = calendar->heap[child];
		at = child;
	}
	calendar->heap[at] = last;
	return first;
}

void calendar_run(struct calendar *calendar, uint64_t time_ns)
{
	while (calendar_next(calendar) <= time_ns && calendar->count) {
		struct event event = take_first(calendar);

		event.run(event.context, event.time_ns, event.frame, event.id);
	}
}
