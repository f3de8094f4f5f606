/* SPDX-License-Identifier: Apache-2.0 */
/* The control channel: what has come from whom, and who is gone. */
#include "control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/deadline.h"

#define SEND_TIMEOUT_MS 5000

enum ina_status ina_control_init(struct ina_control *control, int rank, int ranks,
                                 struct ina_failure *failure)
{
	memset(control, 0, sizeof(*control));
	control->rank = rank;
	control->ranks = ranks;
	control->peers = calloc((size_t)ranks, sizeof(*control->peers));
	if (!control->peers)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for the control channel");
	for (int r = 0; r < ranks; r++)
		control->peers[r].link.fd = -1;
	return INA_OK;
}

void ina_control_close(struct ina_control *control)
{
	for (int r = 0; control->peers && r < control->ranks; r++)
		ina_link_close(&control->peers[r].link);
	free(control->peers);
	control->peers = NULL;
}

struct ina_control_frame ina_control_frame(const struct ina_control *control,
                                           enum ina_control_type type)
{
	return (struct ina_control_frame){
	        .magic = INA_CONTROL_MAGIC,
	        .type = type,
	        .rank = (uint32_t)control->rank,
	};
}

static bool is_there(const struct ina_control *control, int rank)
{
	return control->peers[rank].link.fd >= 0 && !ina_control_is_absent(control, rank);
}

void ina_control_broadcast(struct ina_control *control, struct ina_control_frame *frame)
{
	for (int r = 0; r < control->ranks; r++)
		ina_control_send(control, r, frame);
}

void ina_control_farewell(struct ina_control *control, const struct ina_failure *failure)
{
	struct ina_control_frame frame = ina_control_frame(control, INA_CONTROL_FAREWELL);

	frame.decision.status = failure->status;
	if (failure->status != INA_OK)
		snprintf(frame.decision.text, INA_CONTROL_TEXT, "%.*s", INA_CONTROL_TEXT - 1,
		         failure->text);
	ina_control_broadcast(control, &frame);
}

bool ina_control_is_absent(const struct ina_control *control, int rank)
{
	return control->peers[rank].gone || control->peers[rank].left;
}

enum ina_status ina_fail_gone(struct ina_failure *failure, const unsigned char *gone, int ranks)
{
	char names[200];
	int count = ina_list_ranks(names, sizeof(names), gone, ranks);

	return ina_fail(failure, INA_ERR_PEER, "%s %s gone", names, count == 1 ? "is" : "are");
}

bool ina_control_lost(const struct ina_control *control, struct ina_failure *failure)
{
	unsigned char gone[INA_MAX_RANKS] = {0};
	int count = 0;

	for (int r = 0; r < control->ranks; r++)
		count += gone[r] = control->peers[r].gone;
	if (count > 0)
		ina_fail_gone(failure, gone, control->ranks);
	else
		*failure = control->heard;
	return failure->status != INA_OK;
}

/* A rank's last words. Those of rank 0, if they are of an error, are the diagnosis. */
static void take_farewell(struct ina_control *control, int from, const struct ina_decision *word)
{
	control->peers[from].left = true;
	if (word->status == INA_OK)
		return;
	if (control->heard.status == INA_OK)
		ina_fail(&control->heard, word->status, "%s", word->text);
	if (from == 0 && !control->has_diagnosis) {
		control->has_diagnosis = true;
		control->diagnosis = *word;
	}
}

/* At rank 0, from another rank. */
static void take_report(struct ina_peer *peer, const struct ina_control_frame *frame)
{
	switch (frame->type) {
	case INA_CONTROL_REPORT:
		peer->has_report = true;
		peer->report = frame->report;
		break;
	case INA_CONTROL_STALL:
		peer->stall = frame->stall;
		break;
	case INA_CONTROL_FAULT:
		peer->has_fault = true;
		peer->fault = frame->fault;
		break;
	default:
		break;
	}
}

/* From rank 0, at another rank. */
static void take_order(struct ina_control *control, const struct ina_control_frame *frame)
{
	switch (frame->type) {
	case INA_CONTROL_DECISION:
		control->has_decision = true;
		control->decision = frame->decision;
		break;
	case INA_CONTROL_QUERY:
		control->asked = true;
		break;
	case INA_CONTROL_DIAGNOSIS:
		control->has_diagnosis = true;
		control->diagnosis = frame->decision;
		break;
	case INA_CONTROL_PLAN: /* the answer to the reports that were asked for */
		control->has_plan = true;
		control->plan = frame->plan;
		control->asked = false;
		break;
	default:
		break;
	}
}

/* Others than rank 0 have nothing to say to each other but farewell. */
static void take_frame(struct ina_control *control, int from)
{
	struct ina_peer *peer = &control->peers[from];
	const struct ina_control_frame *frame = &peer->link.in;

	if (frame->type == INA_CONTROL_FAREWELL)
		take_farewell(control, from, &frame->decision);
	else if (control->rank == 0)
		take_report(peer, frame);
	else if (from == 0)
		take_order(control, frame);
}

int ina_control_pollfds(const struct ina_control *control, struct pollfd *fds)
{
	int count = 0;

	for (int r = 0; r < control->ranks; r++) {
		if (is_there(control, r))
			fds[count++] =
			        (struct pollfd){.fd = control->peers[r].link.fd, .events = POLLIN};
	}
	return count;
}

static void read_peer(struct ina_control *control, int from)
{
	struct ina_peer *peer = &control->peers[from];

	while (is_there(control, from)) {
		switch (ina_link_read(&peer->link)) {
		case INA_LINK_NOTHING:
			return;
		case INA_LINK_FRAME:
			take_frame(control, from);
			break;
		case INA_LINK_CLOSED:
		case INA_LINK_VERSION:
		case INA_LINK_GARBAGE:
			peer->gone = true;
			break;
		}
	}
}

void ina_control_send(struct ina_control *control, int peer, struct ina_control_frame *frame)
{
	struct ina_peer *to = &control->peers[peer];

	if (!is_there(control, peer) ||
	    ina_link_send(&to->link, frame, ina_now_ms() + SEND_TIMEOUT_MS) == 0)
		return;
	/* It has closed the connection; what it said before has come, and counts. */
	read_peer(control, peer);
	to->gone = !to->left;
}

void ina_control_pump(struct ina_control *control, int timeout_ms)
{
	struct pollfd fds[INA_MAX_RANKS];
	int count = ina_control_pollfds(control, fds);
	int next = 0;

	if (poll(fds, (nfds_t)count, timeout_ms) <= 0)
		return;
	for (int r = 0; r < control->ranks && next < count; r++) {
		if (control->peers[r].link.fd != fds[next].fd)
			continue;
		if (fds[next++].revents)
			read_peer(control, r);
	}
	control->news = true;
}
