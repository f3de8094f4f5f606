/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank that calls another one: it connects, identifies itself, and receives an answer. If an
 * attempt fails, it calls again: the other rank may not listen yet, its host may not be up, its
 * places may be taken, or another job may use the port. No function here waits.
 */
#ifndef INA_BOOTSTRAP_CALLER_H
#define INA_BOOTSTRAP_CALLER_H

#include <poll.h>

#include "credential.h"

/* The pause between two attempts, and the longest interval at which to call ina_caller_step(). */
#define INA_CALLER_PAUSE_MS 50

/* A caller that is put off pauses longer each time, up to this time. */
#define INA_CALLER_PUT_OFF_MS 800

struct ina_caller {
	const struct ina_job *job;
	struct ina_control_frame frame; /* the frame to send: HELLO or GREETING */
	struct sockaddr_in to;          /* with the first port to try */
	int ports;                      /* number of ports to try in turn, from that one on */
	int peer_timeout_ms;
	enum {
		INA_CALLER_PAUSES,
		INA_CALLER_CONNECTS,
		INA_CALLER_AWAITS_CHALLENGE,
		INA_CALLER_AWAITS_ANSWER,
		INA_CALLER_IN,      /* accepted: the user may take the link */
		INA_CALLER_SENT_ON, /* redirected to `onward` */
	} state;
	int64_t until_ms; /* the end of the state, if it has one */
	int attempts;
	int pause_ms; /* pause after the next answer that puts it off */
	struct ina_endpoint onward;
	char why[160]; /* why the last attempt ended; "" before that */
	struct ina_link link;
};

/* Prepares a call. frame: a HELLO or GREETING that is complete except for its credential. */
void ina_caller_open(struct ina_caller *caller, const struct ina_job *job,
                     const struct ina_control_frame *frame, const struct sockaddr_in *to, int ports,
                     int peer_timeout_ms);

/* Closes the link. Also safe if the link was taken (fd = -1). */
void ina_caller_close(struct ina_caller *caller);

/*
 * Makes all progress that is possible without waiting. If it returns INA_OK, the state has the
 * result. Otherwise a rank of this job has refused the caller, and the failure has the reason.
 */
enum ina_status ina_caller_step(struct ina_caller *caller, struct ina_failure *failure);

/* The descriptor to poll; fd is -1 during a pause. */
struct pollfd ina_caller_pollfd(const struct ina_caller *caller);

#endif
