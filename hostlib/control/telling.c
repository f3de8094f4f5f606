/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when this rank informs which neighbours, and when it reads what they send. */
#include "telling.h"

#include <stdio.h>
#include <sys/socket.h>

#include "common/interrupted.h"

/* The shortest time between two checks for silent neighbours. */
#define SILENCE_MS 100

/* How long to wait until the neighbours close their connections too. */
#define FAREWELLS_MS 1000

/* The first and the longest pause between two reports of news to the neighbours. */
#define PAUSE_FIRST_MS 200
#define PAUSE_LAST_MS  3200

static void set_text(char *text, const char *from)
{
	snprintf(text, INA_CONTROL_TEXT, "%.*s", INA_CONTROL_TEXT - 1, from);
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

/*
 * Skips neighbours that do not read, because they are outside the library: sending to them could
 * block.
 */
static void tell_neighbours(struct ina_control *control, struct ina_control_frame *frame)
{
	for (int i = 0; i < control->count; i++) {
		const struct ina_peer *neighbour = &control->neighbours[i];

		if (ina_control_reaches(control, neighbour) && ina_link_is_idle(&neighbour->link))
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

int ina_control_pollfds(const struct ina_control *control, struct pollfd *fds)
{
	int count = 0;

	for (int i = 0; i < control->count; i++) {
		const struct ina_peer *neighbour = &control->neighbours[i];

		if (ina_control_reaches(control, neighbour))
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

		if (!ina_control_reaches(control, neighbour) ||
		    !ina_link_is_silent(&neighbour->link))
			continue;
		ina_control_note_gone(control, neighbour->rank);
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
				ina_control_read(control, &control->neighbours[i]);
		}
		control->news = true;
	}
	look_for_silence(control);
	ina_control_tell(control);
}
