/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the program that an operator asks about, and how they are called. */
#ifndef INA_BRIDGE_VIEW_H
#define INA_BRIDGE_VIEW_H

#include <jansson.h>

#include "sim-bridge/realtime/port.h"
#include "sim-bridge/switch/fabric.h"
#include "history.h"

struct view {
	struct fabric *fabric;
	struct port *ports; /* one for each host */
	const struct history *history;
	bool is_part;                       /* other bridges belong to the fabric too */
	json_t *(*counters)(void *context); /* returns the object of --stats */
	void *counters_context;
};

enum { VIEW_ADDRESS_BYTES = 46, VIEW_NAME_BYTES = IF_NAMESIZE + 4 };

/* Writes an IP address, or "?" without one. Returns `text`, of VIEW_ADDRESS_BYTES. */
const char *view_address(enum ip_version ip, const uint8_t *bytes, char *text);

/*
 * Writes the name of a port's interface in parentheses after a space, or nothing for a socket.
 * Returns `text`, of VIEW_NAME_BYTES.
 */
const char *view_port_name(const struct view *view, unsigned host, char *text);

/* The host at a child port of a switch, or -1 if it leads to a switch. */
int view_host(const struct view *view, unsigned number, unsigned port);

/* True if packets of some child wait for those of others. */
bool view_has_waiting(const struct report_job *job);

#endif
