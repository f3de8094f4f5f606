/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <stdarg.h>
#include <stdio.h>

void virtual_stop(struct virtual_time *time)
{
	time->is_over = true;
	time->end_ns = time->now_ns;
}

void virtual_fail(struct virtual_time *time, const char *format, ...)
{
	va_list arguments;

	if (time->error[0])
		return;
	va_start(arguments, format);
	vsnprintf(time->error, sizeof(time->error), format, arguments);
	va_end(arguments);
	virtual_stop(time);
}

bool virtual_plan(struct virtual_time *time, uint64_t time_ns, event_run *run, struct frame *frame,
                  unsigned port)
{
	const struct event event = {
	        .time_ns = time_ns, .run = run, .context = time, .frame = frame, .id = port};

	if (calendar_add(&time->fabric->calendar, &event))
		return true;
	virtual_fail(time, "the calendar is full: too many frames are in flight");
	return false;
}

void virtual_call(struct virtual_time *time, struct guest *guest, unsigned queue)
{
	if (!guest_call(guest, queue, time->now_ns, VIRTUAL_EPOCH_NS))
		virtual_fail(time, "host %u does not answer its network device", guest->port);
	else if (guest->device.error)
		virtual_fail(time, "host %u: %s", guest->port, guest->device.error);
}
