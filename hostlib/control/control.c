/* SPDX-License-Identifier: Apache-2.0 */
/* The control channel: handles frames from neighbours, and keeps track of lost ranks. */
#include "control.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/interrupted.h"

#define SEND_TIMEOUT_MS 5000

/* The shortest time between two checks for silent neighbours. */
#define SILENCE_MS 100

/* How long to wait until the neighbours close their connections too. */
#define FAREWELLS_MS 1000

/* The first and the longest pause between two reports of news to the neighbours. */
#define PAUSE_FIRST_MS 200
#define PAUSE_LAST_MS  3200

static const struct ina_votes NO_VOTES = {.least = {.rank = UINT32_MAX},
                                          .most = {.rank = UINT32_MAX}};

void ina_control_init(struct ina_control *control, int rank, int ranks)
{
	int neighbours[INA_NEIGHBOURS_MAX];

	memset(control, 0, sizeof(*control));
	control->rank = rank;
	control->ranks = ranks;
	control->votes = NO_VOTES;
	control->count = ina_neighbours(rank, ranks, neighbours);
	for (int i = 0; i < control->count; i++) {
		control->neighbours[i].rank = neighbours[i];
		control->neighbours[i].link.fd = -1;
	}
}

void ina_control_close(struct ina_control *control)
{
	for (int i = 0; i < control->count; i++)
		ina_link_close(&control->neighbours[i].link);
	control->count = 0;
}

static struct ina_peer *find(struct ina_control *control, int rank)
{
	for (int i = 0; i < control->count; i++) {
		if (control->neighbours[i].rank == rank)
			return &control->neighbours[i];
	}
	return NULL;
}

struct ina_link *ina_control_link(struct ina_control *control, int rank)
{
	struct ina_peer *neighbour = find(control, rank);

	return neighbour ? &neighbour->link : NULL;
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

static bool is_there(const struct ina_control *control, const struct ina_peer *neighbour)
{
	return neighbour->link.fd >= 0 && !ina_control_is_absent(control, neighbour->rank);
}

static void set_text(char *text, const char *from)
{
	snprintf(text, INA_CONTROL_TEXT, "%.*s", INA_CONTROL_TEXT - 1, from);
}

void ina_control_farewell(struct ina_control *control, const struct ina_failure *failure)
{
	struct ina_control_frame frame = ina_control_frame(control, INA_CONTROL_FAREWELL);

	frame.decision.status = failure->status;
	if (failure->status != INA_OK)
		set_text(frame.decision.text, failure->text);
	ina_control_tell(control);
	ina_control_broadcast(control, &frame);
}

/*
 * If a rank closes a connection that has unread data, TCP resets it, and its own last frames may be
 * lost. So read until the other side closes.
 */
void ina_control_await_farewells(struct ina_control *control)
{
	int64_t deadline_ms = ina_now_ms() + FAREWELLS_MS;
	struct pollfd fds[INA_NEIGHBOURS_MAX];
	char ignored[4096];
	int count = control->count;
	int open = count;

	for (int i = 0; i < count; i++) {
		fds[i] = (struct pollfd){.fd = control->neighbours[i].link.fd, .events = POLLIN};
		if (fds[i].fd >= 0)
			shutdown(fds[i].fd, SHUT_WR);
	}
	while (open > 0 &&
	       ina_poll(fds, (nfds_t)count, ina_left_ms(deadline_ms, FAREWELLS_MS)) > 0) {
		open = 0;
		for (int i = 0; i < count; i++) {
			if (fds[i].fd >= 0 && fds[i].revents &&
			    recv(fds[i].fd, ignored, sizeof(ignored), MSG_DONTWAIT) <= 0)
				fds[i].fd = -1;
			open += fds[i].fd >= 0;
		}
	}
}

enum ina_status ina_fail_gone(struct ina_failure *failure, const struct ina_ranks *gone, int ranks)
{
	char names[200];

	ina_ranks_list(names, sizeof(names), gone, ranks);
	return ina_fail(failure, INA_ERR_PEER, "%s disconnected", names);
}

bool ina_control_lost(const struct ina_control *control, struct ina_failure *failure)
{
	if (ina_ranks_count(&control->gone, control->ranks) > 0)
		ina_fail_gone(failure, &control->gone, control->ranks);
	else
		*failure = control->heard;
	return failure->status != INA_OK;
}

static void note_gone(struct ina_control *control, int rank)
{
	ina_ranks_add(&control->gone, rank);
	control->news_to_tell = true;
}

/* Only the first error counts, so each rank passes on no more than one. */
static void hear(struct ina_control *control, uint32_t status, const char *text)
{
	if (status == INA_OK || control->heard.status != INA_OK)
		return;
	ina_fail(&control->heard, status, "%s", text);
	control->news_to_tell = true;
}

/* A neighbour's farewell. If rank 0 says farewell with an error, that is the diagnosis. */
static void take_farewell(struct ina_control *control, int from, const struct ina_decision *word)
{
	ina_ranks_add(&control->left, from);
	hear(control, word->status, word->text);
	if (from == 0 && word->status != INA_OK && !control->has_diagnosis) {
		control->has_diagnosis = true;
		control->diagnosis = *word;
	}
}

static void take_news(struct ina_control *control, const struct ina_news *news)
{
	control->news_to_tell |= ina_ranks_unite(&control->gone, &news->gone);
	hear(control, news->status, news->text);
}

static void tell_news(struct ina_control *control)
{
	struct ina_control_frame frame = ina_control_frame(control, INA_CONTROL_NEWS);

	control->news_to_tell = false;
	frame.news.gone = control->gone;
	frame.news.status = control->heard.status;
	set_text(frame.news.text, control->heard.text);
	ina_control_broadcast(control, &frame);
}

static bool is_later(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

void ina_control_take_votes(struct ina_control *control, const struct ina_votes *votes)
{
	/* Some rank has started a later agreement, so the earlier one has been decided. */
	if (is_later(votes->phase, control->votes.phase)) {
		control->votes = NO_VOTES;
		control->votes.phase = votes->phase;
		control->votes_told = (struct ina_telling){0};
	}
	if (votes->phase != control->votes.phase)
		return;
	control->votes_told.is_urgent |= votes->status != INA_OK && control->votes.status == INA_OK;
	control->votes_told.is_new |= ina_votes_merge(&control->votes, votes);
}

const struct ina_decision *ina_control_decision(const struct ina_control *control, uint32_t phase)
{
	const struct ina_decision *decision = &control->decisions[phase % INA_DECISIONS];

	return decision->phase == phase ? decision : NULL;
}

void ina_control_take_faults(struct ina_control *control, const struct ina_faults *faults)
{
	if (is_later(faults->round, control->faults.round)) {
		control->faults = (struct ina_faults){.round = faults->round};
		control->faults_told = (struct ina_telling){0};
	}
	if (faults->round == control->faults.round)
		control->faults_told.is_new |= ina_faults_merge(&control->faults, faults);
}

void ina_control_next_round(struct ina_control *control)
{
	control->round++;
	control->asked = false;
	if (is_later(control->round, control->faults.round)) {
		control->faults = (struct ina_faults){.round = control->round};
		control->faults_told = (struct ina_telling){0};
	}
}

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

/* Takes a frame that only rank 0 originates. Returns whether it is new. */
static bool take_order(struct ina_control *control, const struct ina_control_frame *frame)
{
	struct ina_decision *decision;

	if (control->rank == 0 || frame->rank != 0)
		return false;
	switch (frame->type) {
	case INA_CONTROL_DECISION:
		decision = &control->decisions[frame->decision.phase % INA_DECISIONS];
		if (!is_later(frame->decision.phase, decision->phase))
			return false;
		*decision = frame->decision;
		if (!is_later(control->votes.phase, frame->decision.phase))
			control->votes_told.is_new = false;
		return true;
	case INA_CONTROL_DIAGNOSIS:
		if (control->has_diagnosis)
			return false;
		control->has_diagnosis = true;
		control->diagnosis = frame->decision;
		return true;
	case INA_CONTROL_PLAN: /* rank 0's answer to the reports of this round */
		if (frame->plan.round != control->round)
			return false;
		control->has_plan = true;
		control->plan = frame->plan;
		ina_control_next_round(control);
		return true;
	default:
		return false;
	}
}

static bool take_query(struct ina_control *control, const struct ina_control_frame *frame)
{
	if (control->asked || frame->round != control->round)
		return false;
	control->asked = true;
	return true;
}

static void take_frame(struct ina_control *control, struct ina_peer *from)
{
	/* Copy the frame: if passing it on fails, more frames are read into the link. */
	struct ina_control_frame frame = from->link.in;
	bool goes_on = false;

	switch (frame.type) {
	case INA_CONTROL_FAREWELL:
		take_farewell(control, from->rank, &frame.decision);
		break;
	case INA_CONTROL_NEWS:
		take_news(control, &frame.news);
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
		goes_on = take_query(control, &frame);
		break;
	default:
		goes_on = take_order(control, &frame);
		break;
	}
	if (goes_on)
		hand_on(control, from->rank, &frame);
}

static void read_neighbour(struct ina_control *control, struct ina_peer *from)
{
	while (is_there(control, from)) {
		switch (ina_link_read(&from->link)) {
		case INA_LINK_NOTHING:
			return;
		case INA_LINK_FRAME:
			take_frame(control, from);
			break;
		case INA_LINK_CLOSED:
		case INA_LINK_VERSION:
		case INA_LINK_GARBAGE:
			note_gone(control, from->rank);
			break;
		}
	}
}

void ina_control_send(struct ina_control *control, int rank, struct ina_control_frame *frame)
{
	struct ina_peer *to = find(control, rank);

	if (!to || !is_there(control, to) ||
	    ina_link_send(&to->link, frame, ina_now_ms() + SEND_TIMEOUT_MS) == 0)
		return;
	/* The neighbour has closed the connection. Frames that it sent before that still count. */
	read_neighbour(control, to);
	if (!ina_control_is_absent(control, rank))
		note_gone(control, rank);
}

bool ina_control_children_stall(const struct ina_control *control)
{
	for (int i = 0; i < control->count; i++) {
		const struct ina_peer *neighbour = &control->neighbours[i];

		if (ina_is_child(neighbour->rank, control->rank) && !neighbour->stall.is_all)
			return false;
	}
	return true;
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

/*
 * Skips neighbours that do not read, because they are outside the library: sending to them could
 * block.
 */
static void tell_neighbours(struct ina_control *control, struct ina_control_frame *frame)
{
	for (int i = 0; i < control->count; i++) {
		const struct ina_peer *neighbour = &control->neighbours[i];

		if (is_there(control, neighbour) && ina_link_is_idle(&neighbour->link))
			ina_control_send(control, neighbour->rank, frame);
	}
}

/*
 * Sends to the parent when the whole subtree has spoken or the news is urgent, and to all
 * neighbours after each pause.
 */
static void tell(struct ina_control *control, struct ina_telling *telling,
                 const struct ina_ranks *spoken, struct ina_control_frame *frame)
{
	int64_t now_ms = ina_now_ms();
	int end = ina_subtree_end(control->rank, control->ranks);
	bool complete = true;

	if (!telling->is_new || control->rank == 0)
		return;
	for (int r = control->rank; r < end && complete; r++)
		complete = ina_ranks_have(spoken, r);
	if ((complete && !telling->parent_knows) || telling->is_urgent)
		ina_control_send(control, ina_parent(control->rank), frame);
	telling->parent_knows |= complete;
	telling->is_urgent = false;
	if (telling->pause_ms == 0) {
		telling->pause_ms = PAUSE_FIRST_MS;
		telling->next_ms = now_ms + PAUSE_FIRST_MS;
	}
	if (now_ms < telling->next_ms)
		return;
	telling->is_new = false;
	telling->next_ms = now_ms + telling->pause_ms;
	if (telling->pause_ms < PAUSE_LAST_MS)
		telling->pause_ms *= 2;
	tell_neighbours(control, frame);
}

void ina_control_tell(struct ina_control *control)
{
	struct ina_control_frame frame;

	if (control->news_to_tell)
		tell_news(control);
	if (control->votes_told.is_new) {
		frame = ina_control_frame(control, INA_CONTROL_VOTES);
		frame.votes = control->votes;
		tell(control, &control->votes_told, &control->votes.voted, &frame);
	}
	if (control->faults_told.is_new && !control->has_diagnosis) {
		frame = ina_control_frame(control, INA_CONTROL_FAULTS);
		frame.faults = control->faults;
		tell(control, &control->faults_told, &control->faults.reported, &frame);
	}
}

int ina_control_pollfds(const struct ina_control *control, struct pollfd *fds)
{
	int count = 0;

	for (int i = 0; i < control->count; i++) {
		const struct ina_peer *neighbour = &control->neighbours[i];

		if (is_there(control, neighbour))
			fds[count++] = (struct pollfd){.fd = neighbour->link.fd, .events = POLLIN};
	}
	return count;
}

/* TCP reports a silent host too late, so check when each neighbour's kernel last answered. */
static void look_for_silence(struct ina_control *control)
{
	int64_t now_ms = ina_now_ms();

	if (now_ms < control->listened_ms + SILENCE_MS)
		return;
	control->listened_ms = now_ms;
	for (int i = 0; i < control->count; i++) {
		const struct ina_peer *neighbour = &control->neighbours[i];

		if (!is_there(control, neighbour) || !ina_link_is_silent(&neighbour->link))
			continue;
		note_gone(control, neighbour->rank);
		control->news = true;
	}
}

void ina_control_pump(struct ina_control *control, int timeout_ms)
{
	struct pollfd fds[INA_NEIGHBOURS_MAX];
	int count = ina_control_pollfds(control, fds);
	int next = 0;

	if (ina_poll(fds, (nfds_t)count, timeout_ms) > 0) {
		for (int i = 0; i < control->count && next < count; i++) {
			if (control->neighbours[i].link.fd != fds[next].fd)
				continue;
			if (fds[next++].revents)
				read_neighbour(control, &control->neighbours[i]);
		}
		control->news = true;
	}
	look_for_silence(control);
	ina_control_tell(control);
}
