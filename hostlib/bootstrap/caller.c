/* SPDX-License-Identifier: Apache-2.0 */
/* The calling side of a connection between two ranks. */
#include "caller.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/interrupted.h"

/* How long the host may take to accept the connection, and the listener to send its challenge. */
#define SILENCE_MS 5000

void ina_caller_open(struct ina_caller *caller, const struct ina_job *job,
                     const struct ina_control_frame *frame, const struct sockaddr_in *to, int ports,
                     int peer_timeout_ms)
{
	*caller = (struct ina_caller){
	        .job = job,
	        .frame = *frame,
	        .to = *to,
	        .ports = ports,
	        .peer_timeout_ms = peer_timeout_ms,
	        .state = INA_CALLER_PAUSES,
	        .until_ms = ina_now_ms(),
	        .pause_ms = INA_CALLER_PAUSE_MS,
	        .link.fd = -1,
	};
}

void ina_caller_close(struct ina_caller *caller)
{
	ina_link_close(&caller->link);
}

static void enter(struct ina_caller *caller, int state, int ms)
{
	caller->state = state;
	caller->until_ms = ina_now_ms() + ms;
}

/* Ends this attempt, and schedules the next one. */
static void __attribute__((format(printf, 2, 3)))
call_again(struct ina_caller *caller, const char *why, ...)
{
	va_list arguments;

	va_start(arguments, why);
	vsnprintf(caller->why, sizeof(caller->why), why, arguments);
	va_end(arguments);
	ina_link_close(&caller->link);
	enter(caller, INA_CALLER_PAUSES, INA_CALLER_PAUSE_MS);
}

static void call(struct ina_caller *caller)
{
	struct sockaddr_in to = caller->to;

	to.sin_port = htons((uint16_t)(ntohs(to.sin_port) + caller->attempts % caller->ports));
	caller->attempts++;
	if (ina_link_call(&caller->link, &to) == 0)
		enter(caller, INA_CALLER_CONNECTS, SILENCE_MS);
	else
		call_again(caller, "%s", strerror(errno));
}

static void connect_or_not(struct ina_caller *caller)
{
	struct pollfd fd = ina_caller_pollfd(caller);

	if (ina_poll(&fd, 1, 0) != 1) {
		if (ina_now_ms() >= caller->until_ms)
			call_again(caller, "%s", strerror(ETIMEDOUT));
		return;
	}
	if (ina_link_finish_call(&caller->link, caller->peer_timeout_ms) == 0)
		enter(caller, INA_CALLER_AWAITS_CHALLENGE, SILENCE_MS);
	else
		call_again(caller, "%s", strerror(errno));
}

/*
 * Returns true for a frame of this type. Any other frame, and the end of the connection, ends the
 * attempt.
 */
static bool hears(struct ina_caller *caller, enum ina_control_type type)
{
	switch (ina_link_read(&caller->link)) {
	case INA_LINK_NOTHING:
		return false;
	case INA_LINK_FRAME:
		if (caller->link.in.type == type)
			return true;
		break;
	case INA_LINK_CLOSED:
		call_again(caller, "it closed the connection without sending anything");
		return false;
	case INA_LINK_VERSION:
		call_again(caller,
		           "it has version %c of libina's control protocol, this rank has %c: all "
		           "ranks need the same libina",
		           (char)(caller->link.in.magic >> 56), (char)(INA_CONTROL_MAGIC >> 56));
		return false;
	case INA_LINK_GARBAGE:
		break;
	}
	call_again(caller, "the program that answers is not libina");
	return false;
}

static void introduce(struct ina_caller *caller)
{
	struct ina_control_frame *frame = &caller->frame;

	if (!hears(caller, INA_CONTROL_CHALLENGE)) {
		if (caller->state == INA_CALLER_AWAITS_CHALLENGE &&
		    ina_now_ms() >= caller->until_ms)
			call_again(caller, "it sent nothing for %d ms", SILENCE_MS);
		return;
	}
	if (ina_random_number(&frame->credential.nonce) != 0) {
		call_again(caller, "cannot get a random number: %s", strerror(errno));
		return;
	}
	ina_credential_sign(frame, caller->job, caller->link.in.credential.nonce);
	if (ina_link_send(&caller->link, frame, caller->until_ms) == 0)
		caller->state = INA_CALLER_AWAITS_ANSWER;
	else
		call_again(caller, "it closed the connection immediately");
}

/* Accepts the answer only from a rank of the same job. */
static enum ina_status hear_answer(struct ina_caller *caller, struct ina_failure *failure)
{
	const struct ina_control_frame *in = &caller->link.in;

	if (!hears(caller, INA_CONTROL_ANSWER))
		return INA_OK;
	if (in->credential.job != caller->job->tag) {
		call_again(caller, "another job's rank listens there; give each job its own "
		                   "INA_COOKIE, or its own port in INA_ROOT");
		return INA_OK;
	}
	if (!ina_credential_holds(in, caller->job, caller->frame.credential.nonce)) {
		call_again(caller, "its INA_SECRET differs");
		return INA_OK;
	}
	if (in->answer.status != INA_OK)
		return ina_fail(failure, in->answer.status, "%s", in->answer.text);
	if (in->answer.admission == INA_PUT_OFF) {
		call_again(caller, "it waits for the rank that this rank must connect to");
		enter(caller, INA_CALLER_PAUSES, caller->pause_ms);
		if (caller->pause_ms < INA_CALLER_PUT_OFF_MS)
			caller->pause_ms *= 2;
		return INA_OK;
	}
	caller->onward = in->answer.onward;
	caller->state = in->answer.admission == INA_SENT_ON ? INA_CALLER_SENT_ON : INA_CALLER_IN;
	return INA_OK;
}

enum ina_status ina_caller_step(struct ina_caller *caller, struct ina_failure *failure)
{
	if (caller->state == INA_CALLER_PAUSES && ina_now_ms() >= caller->until_ms)
		call(caller);
	if (caller->state == INA_CALLER_CONNECTS)
		connect_or_not(caller);
	if (caller->state == INA_CALLER_AWAITS_CHALLENGE)
		introduce(caller);
	if (caller->state == INA_CALLER_AWAITS_ANSWER)
		return hear_answer(caller, failure);
	return INA_OK;
}

struct pollfd ina_caller_pollfd(const struct ina_caller *caller)
{
	return (struct pollfd){
	        .fd = caller->link.fd,
	        .events = caller->state == INA_CALLER_CONNECTS ? POLLOUT : POLLIN,
	};
}
