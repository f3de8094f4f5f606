/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank that calls another one: connects, says who it is, and hears whether it is let in. Whatever
 * goes wrong on the way there (nobody listens yet, the host is not up, the listener has no place
 * left, another job is there) it calls again. Nothing here waits.
 */
#ifndef INA_BOOTSTRAP_CALLER_H
#define INA_BOOTSTRAP_CALLER_H

#include <poll.h>

#include "credential.h"

/* Between two attempts. Whoever polls looks again at least that often. */
#define INA_CALLER_PAUSE_MS 50

/* Who is put off pauses longer each time, and so long at most. */
#define INA_CALLER_PUT_OFF_MS 800

struct ina_caller {
	const struct ina_job *job;
	struct ina_control_frame frame; /* what to say: HELLO, or GREETING */
	struct sockaddr_in to;          /* its port is the first that may be the right one */
	int ports;                      /* how many from there on may be, each tried in turn */
	int peer_timeout_ms;
	enum {
		INA_CALLER_PAUSES,
		INA_CALLER_CONNECTS,
		INA_CALLER_AWAITS_CHALLENGE,
		INA_CALLER_AWAITS_ANSWER,
		INA_CALLER_IN,      /* the link is the caller's to take */
		INA_CALLER_SENT_ON, /* to `onward` */
	} state;
	int64_t until_ms; /* the end of the state, if it has one */
	int attempts;
	int pause_ms; /* after the next time that it is put off */
	struct ina_endpoint onward;
	char why[160]; /* the end of the last attempt, "" so far none has ended */
	struct ina_link link;
};

/* frame: a HELLO or GREETING with everything in it but the credential. */
void ina_caller_open(struct ina_caller *caller, const struct ina_job *job,
                     const struct ina_control_frame *frame, const struct sockaddr_in *to, int ports,
                     int peer_timeout_ms);

/* Safe also where the link was taken (fd = -1). */
void ina_caller_close(struct ina_caller *caller);

/*
 * Does what can be done. INA_OK: look at the state. Else the other end is of this job, and has
 * refused: the failure says why.
 */
enum ina_status ina_caller_step(struct ina_caller *caller, struct ina_failure *failure);

/* What to wait for; fd is -1 where that is time. */
struct pollfd ina_caller_pollfd(const struct ina_caller *caller);

#endif
