/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the ports of a command line, and follows the changes of their interfaces. */
#ifndef INA_BRIDGE_PORTS_H
#define INA_BRIDGE_PORTS_H

#include "interfaces.h"
#include "port.h"

/* The text of --port for a TAP device begins with it. */
#define PORTS_TAP_PREFIX "tap:"

/*
 * `names`: for each port the name of an interface, or of a TAP device after the prefix; NULL if the
 * port is a socket, which is in `fds`. Takes ownership of the sockets. Checks all ports before it
 * opens one. If a port cannot be opened, writes one line to `error` and returns false; the caller
 * then closes all ports.
 */
bool ports_open(struct port *ports, const int *fds, const char *const *names, unsigned count,
                char *error, size_t error_bytes);

enum ports_event {
	PORTS_SAME,
	PORTS_DOWN,    /* the link */
	PORTS_UP,      /* the link */
	PORTS_REMOVED, /* the interface; the port's descriptor is closed */
	PORTS_BACK,    /* another interface of this name; the port has a new descriptor */
};

/*
 * Applies the change of an interface to a port, and counts and reports it. The link of a port that
 * is back may be down.
 */
enum ports_event ports_follow(struct port *port, unsigned number, const struct interface *changed);

#endif
