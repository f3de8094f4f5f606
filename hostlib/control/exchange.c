/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends frames to neighbours, and reads theirs. A send that fails reads first, and a frame that is
 * read may be passed on, so these two are in one file.
 */
#include "exchange.h"

#include <string.h>

#include "common/deadline.h"

/* How long a frame may wait for room in a full socket. */
#define SEND_TIMEOUT_MS 5000

/* Sends to all neighbours except `from`, from which the frame came. */
static void hand_on(struct ina_control *control, int from, struct ina_control_frame *frame)
{
	for (int i = 0; i < control->count; i++) {
		if (control->neighbours[i].rank != from)
			ina_control_send(control, control->neighbours[i].rank, frame);
	}
}

void ina_control_broadcast(struct ina_control *control, struct ina_control_frame *frame)
{
	hand_on(control, control->rank, frame);
}

void ina_control_ask(struct ina_control *control)
{
	struct ina_control_frame frame = ina_control_frame(control, INA_CONTROL_QUERY);

	if (control->asked)
		return;
	control->asked = true;
	frame.round = control->round;
	ina_control_broadcast(control, &frame);
}

void ina_control_tell_stall(struct ina_control *control)
{
	struct ina_control_frame frame = ina_control_frame(control, INA_CONTROL_STALL);

	frame.stall.call = control->stall;
	frame.stall.is_all =
	        ina_call_is_counted(&control->stall) && ina_control_children_stall(control);
	if (control->rank == 0 ||
	    memcmp(&frame.stall, &control->stall_told, sizeof(frame.stall)) == 0)
		return;
	control->stall_told = frame.stall;
	ina_control_send(control, ina_parent(control->rank), &frame);
}

static void take_frame(struct ina_control *control, struct ina_peer *from)
{
	/* Copy the frame: if passing it on fails, more frames are read into the link. */
	struct ina_control_frame frame = from->link.in;
	bool goes_on = false;

	switch (frame.type) {
	case INA_CONTROL_FAREWELL:
		ina_control_take_farewell(control, from->rank, &frame.decision);
		break;
	case INA_CONTROL_NEWS:
		ina_control_take_news(control, &frame.news);
		break;
	case INA_CONTROL_VOTES:
		ina_control_take_votes(control, &frame.votes);
		break;
	case INA_CONTROL_FAULTS:
		ina_control_take_faults(control, &frame.faults);
		break;
	case INA_CONTROL_STALL:
		from->stall = frame.stall;
		ina_control_tell_stall(control);
		break;
	case INA_CONTROL_QUERY:
		goes_on = ina_control_take_query(control, &frame);
		break;
	default:
		goes_on = ina_control_take_order(control, &frame);
		break;
	}
	if (goes_on)
		hand_on(control, from->rank, &frame);
}

void ina_control_read(struct ina_control *control, struct ina_peer *from)
{
	while (ina_control_reaches(control, from)) {
		switch (ina_link_read(&from->link)) {
		case INA_LINK_NOTHING:
			return;
		case INA_LINK_FRAME:
			take_frame(control, from);
			break;
		case INA_LINK_CLOSED:
		case INA_LINK_VERSION:
		case INA_LINK_GARBAGE:
			ina_control_note_gone(control, from->rank);
			break;
		}
	}
}

void ina_control_send(struct ina_control *control, int rank, struct ina_control_frame *frame)
{
	struct ina_peer *to = ina_control_peer(control, rank);

	if (!to || !ina_control_reaches(control, to) ||
	    ina_link_send(&to->link, frame, ina_now_ms() + SEND_TIMEOUT_MS) == 0)
		return;
	/* The neighbour has closed the connection. Frames that it sent before that still count. */
	ina_control_read(control, to);
	if (!ina_control_is_absent(control, rank))
		ina_control_note_gone(control, rank);
}
