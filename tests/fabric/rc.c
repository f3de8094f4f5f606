/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reliable connection like that of rdma_rxe: go-back-N; one NAK for each gap; after a NAK the
 * sender ignores others until the next ACK; an ACK timer, and no limit of retries.
 */
#include "bed.h"

#include <stdio.h>

enum { UNACKNOWLEDGED_MAX = 128 };

static act timer;

static void arm(struct bed *bed, struct rank *rank, bool afresh)
{
	if (afresh || rank->deadline == UINT64_MAX)
		rank->deadline = bed->now + (uint64_t)bed->set.timeout * FRAME_TIME;
	if (rank->is_timing)
		return;
	rank->is_timing = true;
	bed_at(bed, rank->deadline, timer, rank, rank->job->generation, NULL);
}

/* The number of packets that the program has posted. */
static void post(struct bed *bed, struct rank *rank)
{
	const struct job *job = rank->job;
	unsigned sums = rank->sums;

	if (!rank->is_started || rank->leave_at != NEVER)
		return;
	if (rank->posted == 0)
		rank->posted = 1;
	if (rank->has_failed || job->is_ending || sums == 0 ||
	    (bed->set.data_waits_for_join && rank->acknowledged == 0))
		return;
	unsigned messages = sums - 1 + rank->window;

	if (messages > job->messages)
		messages = job->messages;
	if (rank->posted < 1 + messages * job->packets)
		rank->posted = 1 + messages * job->packets;
	if (sums == 1 + job->messages)
		rank->leave_at = rank->posted++;
}

void rank_pump(struct bed *bed, struct rank *rank)
{
	if (!rank->is_alive)
		return;
	post(bed, rank);
	while (rank->next < rank->posted && rank->next < rank->acknowledged + UNACKNOWLEDGED_MAX) {
		struct frame *frame = frame_new(bed);

		packet_fill(bed, rank, rank->next, frame);
		rank->next++;
		if (rank->top < rank->next)
			rank->top = rank->next;
		cable_send(bed, &bed->host_out[rank->host], frame);
		arm(bed, rank, false);
	}
}

static void timer(struct bed *bed, void *who, uint32_t generation, struct frame *frame)
{
	struct rank *rank = who;

	(void)frame;
	if (generation != rank->job->generation || !rank->is_alive)
		return;
	rank->is_timing = false;
	if (rank->acknowledged >= rank->top) {
		rank->deadline = UINT64_MAX;
		return;
	}
	if (bed->now < rank->deadline) {
		arm(bed, rank, false);
		return;
	}
	rank->next = rank->acknowledged;
	rank->has_gone_back = true;
	arm(bed, rank, true);
	rank_pump(bed, rank);
}

static void reply(struct bed *bed, const struct rank *receiver, enum frame_kind kind,
                  uint32_t index)
{
	const struct job *job = receiver->job;
	const struct rank *sender =
	        &job->ranks[(receiver->index + job->rank_count - 1) % job->rank_count];
	struct frame *frame = frame_new(bed);

	frame->kind = kind;
	frame->to = (uint8_t)sender->host;
	frame->job = (uint8_t)job->number;
	frame->rank = (uint8_t)sender->index;
	frame->generation = job->generation;
	frame->index = index;
	cable_send(bed, &bed->host_out[receiver->host], frame);
}

static void fail(struct bed *bed, struct rank *rank, const char *why, uint32_t index)
{
	if (rank->has_failed)
		return;
	if (bed->verbose)
		printf("%llu: job %u: rank %u: packet %u: %s\n", (unsigned long long)bed->now,
		       rank->job->number, rank->index, index, why);
	rank->has_failed = true;
	job_fault(bed, rank);
}

/*
 * At most the window that was requested. All ranks read the same number, unless a reset came
 * between two of them. They exchange the numbers and use the smallest.
 */
static void take_window(struct bed *bed, struct rank *rank, uint32_t packets)
{
	struct job *job = rank->job;

	rank->window = packets / job->packets;
	if (rank->window < 1 || rank->window > job->window)
		bed->wrong++;
	for (unsigned i = 0; i < job->rank_count; i++) {
		struct rank *other = &job->ranks[i];

		if (other == rank || other->sums == 0 || other->window == rank->window)
			continue;
		bed->wrong += bed->resets == 0;
		if (other->window < rank->window)
			rank->window = other->window;
		other->window = rank->window;
	}
	if (bed->verbose && rank->window < job->window)
		printf("%llu: job %u: rank %u: granted %u of %u messages\n",
		       (unsigned long long)bed->now, job->number, rank->index, rank->window,
		       job->window);
}

/* The program's check of a complete message. */
static void accept(struct bed *bed, struct rank *rank, const struct rank *sender, uint32_t index,
                   const struct frame *frame)
{
	struct job *job = rank->job;

	job->progress++;
	if (rank->has_failed)
		return;
	if (index == sender->leave_at) {
		if (rank->sums < 1 + job->messages)
			fail(bed, rank, "the predecessor has left", index);
		return;
	}
	bool begins = index == 0 || (index - 1) % job->packets == 0;

	if (begins)
		rank->fits = rank->is_right = true;
	rank->fits = rank->fits && packet_fits(sender, index, frame);
	if (!rank->fits) {
		fail(bed, rank, "a message that is not due", index);
		return;
	}
	uint32_t said = 0;

	if (packet_ends_message(job, index))
		for (unsigned i = 4; i > 0; i--)
			said = said << 8 |
			       frame_payload(frame)[frame_payload_bytes(frame) - 16 + i - 1];
	if (packet_ends_message(job, index) && said != job->rank_count) {
		fail(bed, rank, "not all contributed", index);
		return;
	}
	rank->is_right = rank->is_right && packet_is_sum(job, index, frame);
	if (!packet_ends_message(job, index))
		return;
	if (!rank->is_right) {
		bed->wrong++;
		if (bed->verbose)
			printf("%llu: job %u: rank %u: WRONG: packet %u ends what is no sum\n",
			       (unsigned long long)bed->now, job->number, rank->index, index);
	}
	rank->sums++;
	if (index == 0)
		take_window(bed, rank, packet_window(frame));
}

static void receive_data(struct bed *bed, unsigned host, struct frame *frame)
{
	bool is_mine = frame_to(frame) == host && frame_is_intact(frame->bytes, frame->length);
	struct rank *sender = is_mine ? frame_sender(bed, frame) : NULL;

	if (!sender)
		return;
	struct job *job = sender->job;
	struct rank *rank = &job->ranks[job->rank_of[host]];
	int32_t index = frame_index(sender, frame);

	if (!rank->is_alive)
		return;
	if (index < (int32_t)rank->expected) {
		if (rank->expected > 0)
			reply(bed, rank, FRAME_ACK, rank->expected - 1);
	} else if (index > (int32_t)rank->expected) {
		if (!rank->has_sent_nak)
			reply(bed, rank, FRAME_NAK, rank->expected);
		rank->has_sent_nak = true;
	} else {
		rank->expected++;
		rank->has_sent_nak = false;
		accept(bed, rank, sender, (uint32_t)index, frame);
		if (frame_asks_for_ack(frame))
			reply(bed, rank, FRAME_ACK, (uint32_t)index);
		rank_pump(bed, rank);
		job_heard(bed, rank);
	}
}

static void receive_answer(struct bed *bed, const struct frame *frame)
{
	struct job *job = &bed->jobs[frame->job];
	struct rank *rank = &job->ranks[frame->rank];
	bool is_nak = frame->kind == FRAME_NAK;

	if (frame->generation != job->generation || !rank->is_alive)
		return;
	uint32_t acknowledged = frame->index + !is_nak;

	if (acknowledged < rank->acknowledged + !is_nak)
		return;
	rank->acknowledged = acknowledged;
	if (!is_nak) {
		rank->has_gone_back = false;
	} else if (!rank->has_gone_back && rank->next > acknowledged) {
		rank->next = acknowledged;
		rank->has_gone_back = true;
	}
	if (rank->next < acknowledged)
		rank->next = acknowledged;
	arm(bed, rank, true);
	rank_pump(bed, rank);
	job_heard(bed, rank);
}

void host_receive(struct bed *bed, void *who, uint32_t host, struct frame *frame)
{
	(void)who;
	if (frame->kind == FRAME_DATA)
		receive_data(bed, host, frame);
	else
		receive_answer(bed, frame);
	frame_free(bed, frame);
}
