/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listening socket, and the callers that have not yet identified themselves. Each caller is sent
 * a challenge. A caller that sends no valid answer for a while, sends garbage, or belongs to
 * another job is rejected and counted.
 *
 * Anybody can connect and stay silent, and that must not keep a rank out. A rank answers its
 * challenge within a few round trips. If all places are taken, the caller that has been silent for
 * longest loses its place to the next one, provided that it has had a fifth of a second. So even a
 * thousand silent connections a second do not keep a rank out. A rank that was slower than that
 * calls again.
 */
#ifndef INA_BOOTSTRAP_ACCEPTOR_H
#define INA_BOOTSTRAP_ACCEPTOR_H

#include <poll.h>

#include "credential.h"

/*
 * The most callers that have not identified themselves or are parked; further ones wait for a
 * place. The callers never use more than a quarter of the descriptors that the process may have.
 */
#define INA_ACCEPTOR_PLACES 256

struct ina_visitor {
	struct ina_link link; /* fd -1: free place */
	uint64_t nonce;       /* in the challenge */
	int64_t since_ms;
	bool is_parked; /* it has identified itself, and waits for an answer */
	bool is_recalled;
};

struct ina_acceptor {
	int listener; /* a listening socket, which the user of the acceptor owns */
	const struct ina_job *job;
	int peer_timeout_ms;
	uint64_t unknown_peers; /* callers that were rejected */
	/* why the last libina process among them was rejected; "" before that */
	char last[160];
	bool is_full; /* no place or no descriptor is free, so no caller is accepted */
	int places;
	int used; /* places that have ever been taken; later ones are uninitialised */
	struct ina_visitor *visitors;
};

/*
 * Initialises the acceptor. visitors: memory of the user, with room for `room` callers; at most a
 * quarter as many as the process may have descriptors are used.
 */
void ina_acceptor_open(struct ina_acceptor *acceptor, int listener, const struct ina_job *job,
                       int peer_timeout_ms, struct ina_visitor *visitors, int room);

/* Closes the connections of the remaining callers, but not the listener. */
void ina_acceptor_close(struct ina_acceptor *acceptor);

/*
 * Fills in the descriptors to poll; fds has room for INA_ACCEPTOR_PLACES + 1. Returns their number.
 * While is_full is set, the user must poll no longer than INA_ACCEPTOR_TICK_MS.
 */
#define INA_ACCEPTOR_TICK_MS 20
int ina_acceptor_pollfds(const struct ina_acceptor *acceptor, struct pollfd *fds);

/*
 * Returns the next caller that has sent a frame of this type and has proved that it belongs to this
 * job; NULL if no caller has yet. Does not wait. The frame is in the caller's link. The user must
 * answer or park the caller before it asks for the next one.
 */
struct ina_visitor *ina_acceptor_next(struct ina_acceptor *acceptor, enum ina_control_type type);

/* Accepts a caller: sends the answer, moves its link to *link, and frees its place. */
void ina_acceptor_let_in(struct ina_acceptor *acceptor, struct ina_visitor *visitor,
                         struct ina_link *link);

/*
 * ina_acceptor_park() lets a caller of this job wait. After ina_acceptor_recall(),
 * ina_acceptor_next() returns the parked callers again. If its place is needed before that, a
 * parked caller is put off, and calls again.
 */
void ina_acceptor_park(struct ina_visitor *visitor);
void ina_acceptor_recall(struct ina_acceptor *acceptor);

/*
 * Redirects a caller of this job to `onward`, or puts it off if that is NULL, so that it calls
 * again. Closes the connection.
 */
void ina_acceptor_send_on(struct ina_acceptor *acceptor, struct ina_visitor *visitor,
                          const struct ina_endpoint *onward);

/*
 * Sends a caller of this job the reason why the communicator cannot be opened, and closes the
 * connection.
 */
void ina_acceptor_tell(struct ina_acceptor *acceptor, struct ina_visitor *visitor,
                       const struct ina_failure *why);

/* Sends a caller the reason why it is refused, closes the connection and counts it. */
void ina_acceptor_refuse(struct ina_acceptor *acceptor, struct ina_visitor *visitor,
                         const struct ina_failure *why);

#endif
