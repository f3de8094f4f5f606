/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listening socket, and those who have come to it without having said yet who they are. Each is
 * sent a challenge. A connection that answers nothing of ours for a while, or garbage, or is of
 * another job, is sent away and counted.
 *
 * Anybody can connect and be silent, so silence must not keep a rank out. A rank answers its
 * challenge in a few round trips. When all places are taken, the connection that has been silent
 * for longest leaves its place to the next one, after a fifth of a second: so a thousand silent
 * connections a second change nothing. A rank that was slower than that calls again.
 */
#ifndef INA_BOOTSTRAP_ACCEPTOR_H
#define INA_BOOTSTRAP_ACCEPTOR_H

#include <poll.h>

#include "credential.h"

/*
 * Connections that have not yet said who they are, or are parked; the next ones wait for a place.
 * Never more than a quarter of the descriptors that the process may have.
 */
#define INA_ACCEPTOR_PLACES 256

struct ina_visitor {
	struct ina_link link; /* fd -1: nobody */
	uint64_t nonce;       /* of the challenge */
	int64_t since_ms;
	bool is_parked; /* it has said what it wants, and waits */
	bool is_recalled;
};

struct ina_acceptor {
	int listener; /* the caller's */
	const struct ina_job *job;
	int peer_timeout_ms;
	uint64_t unknown_peers; /* who were sent away */
	char last[160];         /* why the last of them was that was of libina, "": none was */
	bool is_full;           /* nobody is accepted: no place, or no descriptor, is free */
	int places;
	int used; /* places that were ever taken: so few, the rest are not touched */
	struct ina_visitor *visitors;
};

/* visitors: the caller's, with room for so many; INA_ACCEPTOR_PLACES at most are used. */
void ina_acceptor_open(struct ina_acceptor *acceptor, int listener, const struct ina_job *job,
                       int peer_timeout_ms, struct ina_visitor *visitors, int room);

/* Sends away who is still there. */
void ina_acceptor_close(struct ina_acceptor *acceptor);

/*
 * Fills fds (room for INA_ACCEPTOR_PLACES + 1) with what to wait for; returns how many. While
 * is_full is set there is time to be waited for as well: no longer than INA_ACCEPTOR_TICK_MS.
 */
#define INA_ACCEPTOR_TICK_MS 20
int ina_acceptor_pollfds(const struct ina_acceptor *acceptor, struct pollfd *fds);

/*
 * The next one who has said a frame of this type and proved to be of this job, without waiting. The
 * frame is in the visitor's link. To be let in or refused before the next is asked for. NULL:
 * nobody for now.
 */
struct ina_visitor *ina_acceptor_next(struct ina_acceptor *acceptor, enum ina_control_type type);

/* Tells the visitor so; its link becomes *link, and its place is free. */
void ina_acceptor_let_in(struct ina_acceptor *acceptor, struct ina_visitor *visitor,
                         struct ina_link *link);

/*
 * Keeps a visitor of this job waiting: it comes again when it is recalled. Where its place is
 * needed it is put off, and calls again.
 */
void ina_acceptor_park(struct ina_visitor *visitor);
void ina_acceptor_recall(struct ina_acceptor *acceptor);

/*
 * Sends a visitor of this job on, or puts it off, and forgets it. onward: where to; NULL: it is to
 * call again.
 */
void ina_acceptor_send_on(struct ina_acceptor *acceptor, struct ina_visitor *visitor,
                          const struct ina_endpoint *onward);

/* Tells one of this job why it waits in vain, and forgets it. */
void ina_acceptor_tell(struct ina_acceptor *acceptor, struct ina_visitor *visitor,
                       const struct ina_failure *why);

/* Tells the visitor why not, and sends it away. */
void ina_acceptor_refuse(struct ina_acceptor *acceptor, struct ina_visitor *visitor,
                         const struct ina_failure *why);

#endif
