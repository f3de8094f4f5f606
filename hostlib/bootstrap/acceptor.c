/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts connections at a listening socket, and identifies the callers. */
#include "acceptor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/interrupted.h"

/* How long a caller may take to identify itself. */
#define VISITOR_MS 5000

/* How long it may take if others wait for its place. */
#define HURRY_MS 200

/* How long an answer may take to be sent. It always fits into an empty socket buffer. */
#define ANSWER_MS 1000

static int count_places(int room)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 < (rlim_t)room)
		return (int)(limit.rlim_cur / 4);
	return room;
}

void ina_acceptor_open(struct ina_acceptor *acceptor, int listener, const struct ina_job *job,
                       int peer_timeout_ms, struct ina_visitor *visitors, int room)
{
	acceptor->listener = listener;
	acceptor->job = job;
	acceptor->peer_timeout_ms = peer_timeout_ms;
	acceptor->unknown_peers = 0;
	acceptor->last[0] = '\0';
	acceptor->is_full = false;
	acceptor->used = 0;
	acceptor->visitors = visitors;
	acceptor->places = count_places(room);
}

static void send_away(struct ina_acceptor *acceptor, struct ina_visitor *visitor)
{
	if (visitor->link.fd < 0)
		return;
	acceptor->unknown_peers += !visitor->is_parked;
	ina_link_close(&visitor->link);
}

void ina_acceptor_close(struct ina_acceptor *acceptor)
{
	for (int i = 0; i < acceptor->used; i++)
		send_away(acceptor, &acceptor->visitors[i]);
}

int ina_acceptor_pollfds(const struct ina_acceptor *acceptor, struct pollfd *fds)
{
	int count = 1;

	for (int i = 0; i < acceptor->used; i++) {
		if (acceptor->visitors[i].link.fd >= 0 && !acceptor->visitors[i].is_parked)
			fds[count++] = (struct pollfd){.fd = acceptor->visitors[i].link.fd,
			                               .events = POLLIN};
	}
	fds[0] = (struct pollfd){.fd = acceptor->is_full ? -1 : acceptor->listener,
	                         .events = POLLIN};
	return count;
}

static struct ina_control_frame make_answer(const struct ina_acceptor *acceptor,
                                            const struct ina_visitor *visitor,
                                            const struct ina_failure *outcome)
{
	struct ina_control_frame frame = {.magic = INA_CONTROL_MAGIC, .type = INA_CONTROL_ANSWER};

	frame.credential.job = acceptor->job->tag;
	frame.credential.nonce = visitor->nonce;
	frame.answer.status = outcome->status;
	snprintf(frame.answer.text, sizeof(frame.answer.text), "%.*s", INA_CONTROL_TEXT - 1,
	         outcome->text);
	return frame;
}

/*
 * Answers a rank of this job. If the answer cannot be sent, the rank has died, which other code
 * notices.
 */
static void answer(const struct ina_acceptor *acceptor, struct ina_visitor *visitor,
                   const struct ina_failure *outcome, enum ina_admission admission,
                   const struct ina_endpoint *onward)
{
	struct ina_control_frame frame = make_answer(acceptor, visitor, outcome);

	frame.answer.admission = admission;
	if (onward)
		frame.answer.onward = *onward;
	ina_credential_sign(&frame, acceptor->job, visitor->link.in.credential.nonce);
	ina_link_send(&visitor->link, &frame, ina_now_ms() + ANSWER_MS);
}

void ina_acceptor_let_in(struct ina_acceptor *acceptor, struct ina_visitor *visitor,
                         struct ina_link *link)
{
	const struct ina_failure none = {INA_OK, ""};

	answer(acceptor, visitor, &none, INA_LET_IN, NULL);
	*link = visitor->link;
	visitor->link.fd = -1;
}

void ina_acceptor_send_on(struct ina_acceptor *acceptor, struct ina_visitor *visitor,
                          const struct ina_endpoint *onward)
{
	const struct ina_failure none = {INA_OK, ""};

	answer(acceptor, visitor, &none, onward ? INA_SENT_ON : INA_PUT_OFF, onward);
	ina_link_close(&visitor->link);
}

static void keep_oldest(struct ina_visitor **oldest, struct ina_visitor *visitor)
{
	if (!*oldest || visitor->since_ms < (*oldest)->since_ms)
		*oldest = visitor;
}

/*
 * Frees a place: that of the caller that has been silent for longest, if it has had its time, or
 * that of a parked one, which then calls again. Returns NULL if all callers have only just
 * connected.
 */
static struct ina_visitor *vacate(struct ina_acceptor *acceptor)
{
	struct ina_visitor *silent = NULL;
	struct ina_visitor *parked = NULL;

	for (int i = 0; i < acceptor->used; i++) {
		struct ina_visitor *visitor = &acceptor->visitors[i];

		if (visitor->link.fd >= 0)
			keep_oldest(visitor->is_parked ? &parked : &silent, visitor);
	}
	if (silent && ina_now_ms() - silent->since_ms >= HURRY_MS) {
		send_away(acceptor, silent);
		return silent;
	}
	if (parked)
		ina_acceptor_send_on(acceptor, parked, NULL);
	return parked;
}

static struct ina_visitor *free_place(struct ina_acceptor *acceptor)
{
	for (int i = 0; i < acceptor->used; i++) {
		if (acceptor->visitors[i].link.fd < 0)
			return &acceptor->visitors[i];
	}
	if (acceptor->used >= acceptor->places)
		return vacate(acceptor);
	acceptor->visitors[acceptor->used].link.fd = -1;
	return &acceptor->visitors[acceptor->used++];
}

static int challenge(struct ina_visitor *visitor)
{
	struct ina_control_frame frame = {.magic = INA_CONTROL_MAGIC,
	                                  .type = INA_CONTROL_CHALLENGE};

	if (ina_random_number(&visitor->nonce) != 0)
		return -1;
	frame.credential.nonce = visitor->nonce;
	return ina_link_send(&visitor->link, &frame, ina_now_ms() + ANSWER_MS);
}

static bool is_anybody_there(const struct ina_acceptor *acceptor)
{
	struct pollfd fd = {.fd = acceptor->listener, .events = POLLIN};

	return ina_poll(&fd, 1, 0) == 1;
}

/* Returns -1 if no caller waits, or if no place or no descriptor is free. */
static int accept_one(struct ina_acceptor *acceptor, struct ina_visitor **place)
{
	int fd;

	*place = free_place(acceptor);
	acceptor->is_full = !*place;
	if (!*place)
		return -1;
	INA_UNINTERRUPTED(fd,
	                  accept4(acceptor->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
	if (fd >= 0 || (errno != EMFILE && errno != ENFILE))
		return fd;
	acceptor->is_full = true;
	snprintf(acceptor->last, sizeof(acceptor->last),
	         "a connection, because no file descriptor is left (%s; see `ulimit -n`)",
	         strerror(errno));
	return -1;
}

static void accept_all(struct ina_acceptor *acceptor)
{
	acceptor->is_full = false;
	while (is_anybody_there(acceptor)) {
		struct ina_visitor *place;
		int fd = accept_one(acceptor, &place);

		if (fd < 0)
			return;
		if (ina_link_prepare(fd, acceptor->peer_timeout_ms) != 0) {
			close(fd);
			continue;
		}
		place->link.fd = fd;
		place->link.in_bytes = 0;
		place->is_parked = place->is_recalled = false;
		place->since_ms = ina_now_ms();
		if (challenge(place) != 0)
			send_away(acceptor, place);
	}
}

void ina_acceptor_tell(struct ina_acceptor *acceptor, struct ina_visitor *visitor,
                       const struct ina_failure *why)
{
	answer(acceptor, visitor, why, INA_LET_IN, NULL);
	ina_link_close(&visitor->link);
}

static void remember(struct ina_acceptor *acceptor, const struct ina_failure *why)
{
	snprintf(acceptor->last, sizeof(acceptor->last), "%.*s", (int)sizeof(acceptor->last) - 1,
	         why->text);
}

void ina_acceptor_refuse(struct ina_acceptor *acceptor, struct ina_visitor *visitor,
                         const struct ina_failure *why)
{
	answer(acceptor, visitor, why, INA_LET_IN, NULL);
	remember(acceptor, why);
	send_away(acceptor, visitor);
}

/*
 * Rejects a caller that has sent a valid frame, but does not belong to this job, as the tag in the
 * answer shows. The answer is not signed; otherwise anybody could obtain a signed one and present
 * it to a rank of this job.
 */
static void turn_away(struct ina_acceptor *acceptor, struct ina_visitor *visitor)
{
	const struct ina_control_frame *in = &visitor->link.in;
	bool same_job = in->credential.job == acceptor->job->tag;
	struct ina_control_frame frame;
	struct ina_failure why;

	ina_fail(&why, INA_ERR_MISMATCH,
	         same_job ? "rank %u with another INA_SECRET" : "another job's rank %u", in->rank);
	frame = make_answer(acceptor, visitor, &why);
	ina_link_send(&visitor->link, &frame, ina_now_ms() + ANSWER_MS);
	remember(acceptor, &why);
	send_away(acceptor, visitor);
}

void ina_acceptor_park(struct ina_visitor *visitor)
{
	visitor->is_parked = true;
	visitor->is_recalled = false;
}

void ina_acceptor_recall(struct ina_acceptor *acceptor)
{
	for (int i = 0; i < acceptor->used; i++)
		acceptor->visitors[i].is_recalled = acceptor->visitors[i].is_parked;
}

/*
 * Is the parked caller still connected? It has nothing more to send, so a readable socket means
 * that it is not.
 */
static bool is_waiting(const struct ina_visitor *visitor)
{
	struct pollfd fd = {.fd = visitor->link.fd, .events = POLLIN};

	return ina_poll(&fd, 1, 0) == 0;
}

struct ina_visitor *ina_acceptor_next(struct ina_acceptor *acceptor, enum ina_control_type type)
{
	accept_all(acceptor);
	for (int i = 0; i < acceptor->used; i++) {
		struct ina_visitor *visitor = &acceptor->visitors[i];
		enum ina_link_result result;

		if (visitor->link.fd < 0 || (visitor->is_parked && !visitor->is_recalled))
			continue;
		if (visitor->is_parked && is_waiting(visitor)) {
			visitor->is_parked = false;
			return visitor;
		}
		if (visitor->is_parked) {
			send_away(acceptor, visitor);
			continue;
		}
		result = ina_link_read(&visitor->link);
		if (result == INA_LINK_FRAME && visitor->link.in.type == type) {
			if (ina_credential_holds(&visitor->link.in, acceptor->job, visitor->nonce))
				return visitor;
			turn_away(acceptor, visitor);
			continue;
		}
		if (result == INA_LINK_VERSION)
			snprintf(acceptor->last, sizeof(acceptor->last),
			         "a process with version %c of libina's control protocol; this "
			         "rank has version %c",
			         (char)(visitor->link.in.magic >> 56),
			         (char)(INA_CONTROL_MAGIC >> 56));
		if (result != INA_LINK_NOTHING || ina_now_ms() - visitor->since_ms > VISITOR_MS)
			send_away(acceptor, visitor);
	}
	return NULL;
}
