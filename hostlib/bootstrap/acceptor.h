/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listening socket, and those who have come to it without having said yet who they are. Who says
 * nothing of ours for a while, or garbage, is sent away and counted.
 */
#ifndef INA_BOOTSTRAP_ACCEPTOR_H
#define INA_BOOTSTRAP_ACCEPTOR_H

#include <poll.h>

#include "hostlib/control/link.h"

/* Connections that have not yet said who they are. Past that the oldest goes. */
#define INA_ACCEPTOR_PLACES 64

struct ina_acceptor {
	int listener; /* the caller's */
	int peer_timeout_ms;
	uint64_t unknown_peers; /* who were sent away */
	struct ina_visitor {
		struct ina_link link;
		int64_t since_ms;
	} visitors[INA_ACCEPTOR_PLACES];
};

void ina_acceptor_open(struct ina_acceptor *acceptor, int listener, int peer_timeout_ms);

/* Sends away who is still there. */
void ina_acceptor_close(struct ina_acceptor *acceptor);

/* Fills fds (room for INA_ACCEPTOR_PLACES + 1) with what to wait for; returns how many. */
int ina_acceptor_pollfds(const struct ina_acceptor *acceptor, struct pollfd *fds);

/*
 * The next one who has said a frame of this type, without waiting: the link, with the frame in it,
 * is the caller's to copy and to take (fd = -1) or to leave, which sends the visitor away. NULL:
 * nobody for now.
 */
struct ina_link *ina_acceptor_next(struct ina_acceptor *acceptor, enum ina_control_type type);

#endif
