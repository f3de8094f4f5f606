/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listening socket, and those who have come to it without having said yet who they are. Who says
 * nothing of ours for a while, or garbage, is sent away and counted.
 */
#ifndef INA_DOOR_H
#define INA_DOOR_H

#include <poll.h>

#include "link.h"

/* Connections that have not yet said who they are. Past that the oldest goes. */
#define INA_DOOR_PLACES 64

struct ina_door {
	int listener; /* the caller's */
	int peer_timeout_ms;
	uint64_t strangers; /* who were sent away */
	struct ina_visitor {
		struct ina_link link;
		int64_t since_ms;
	} visitors[INA_DOOR_PLACES];
};

void ina_door_open(struct ina_door *door, int listener, int peer_timeout_ms);

/* Sends away who is still there. */
void ina_door_close(struct ina_door *door);

/* Fills fds (room for INA_DOOR_PLACES + 1) with what to wait for; returns how many. */
int ina_door_pollfds(const struct ina_door *door, struct pollfd *fds);

/*
 * The next one who has said a frame of this type, without waiting: the link, with the frame in it,
 * is the caller's to copy and to take (fd = -1) or to leave, which sends the visitor away. NULL:
 * nobody for now.
 */
struct ina_link *ina_door_next(struct ina_door *door, enum ina_control_type type);

#endif
