/* SPDX-License-Identifier: Apache-2.0 */
#include "ports.h"

#include <errno.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>

#include "sim-bridge/switch/bridge.h"
#include "interface_port.h"
#include "path_mtu.h"
#include "socket_port.h"
#include "tap_port.h"

/* Returns why the interface cannot be a port, or NULL. */
static const char *refusal(const struct interface *interface)
{
	if (interface->is_loopback)
		return "it is the loopback interface, which has no cable";
	if (interface->type != ARPHRD_ETHER)
		return "it is not an Ethernet interface";
	return NULL;
}

/* Compares interface `at` of `found` with those before it. Returns false after an error. */
static bool check_others(const struct interface *found, const char *const *names, unsigned at,
                         char *error, size_t error_bytes)
{
	for (unsigned i = 0; i < at; i++) {
		const struct interface *one = &found[i], *other = &found[at];

		if (!one->index)
			continue;
		if (one->index == other->index)
			snprintf(error, error_bytes, "--port %s: the same interface as --port %s",
			         names[at], names[i]);
		else if (one->linked_to == other->index || other->linked_to == one->index)
			snprintf(error, error_bytes,
			         "--port %s: it is linked to --port %s, as the other end of one "
			         "veth pair or a VLAN: a port cannot be another port's cable",
			         names[at], names[i]);
		else
			continue;
		return false;
	}
	return true;
}

/* Finds the interfaces. The entry of a socket or a TAP device has index 0. */
static bool find_all(struct interface *found, const char *const *names, unsigned count, char *error,
                     size_t error_bytes)
{
	for (unsigned i = 0; i < count; i++) {
		found[i] = (struct interface){0};
		if (!names[i] || !strncmp(names[i], PORTS_TAP_PREFIX, strlen(PORTS_TAP_PREFIX)))
			continue;
		if (interfaces_find(names[i], &found[i]) != 0) {
			snprintf(error, error_bytes, "--port %s: %s", names[i],
			         errno == ENODEV ? "no such network interface; `ip link` lists them"
			                         : strerror(errno));
			return false;
		}
		const char *reason = refusal(&found[i]);

		if (reason) {
			snprintf(error, error_bytes, "--port %s: %s", names[i], reason);
			return false;
		}
		if (!check_others(found, names, i, error, error_bytes))
			return false;
	}
	return true;
}

/* `text` without the prefix is the name of the new device. */
static bool open_tap(struct port *port, const char *text, char *error, size_t error_bytes)
{
	const char *name = text + strlen(PORTS_TAP_PREFIX);
	struct interface made;

	port->kind = &tap_port;
	if (!*name || strlen(name) >= sizeof(port->name) || strchr(name, '%')) {
		snprintf(error, error_bytes, "a name has 1 to %zu characters, and no %%",
		         sizeof(port->name) - 1);
		return false;
	}
	strcpy(port->name, name);
	if (!port->kind->open(port, error, error_bytes))
		return false;
	if (interfaces_find(name, &made) != 0) {
		snprintf(error, error_bytes, "%s", strerror(errno));
		return false;
	}
	port->index = made.index;
	port->mtu = made.mtu;
	port->is_up = made.is_up;
	return true;
}

static bool open_interface(struct port *port, const struct interface *found, char *error,
                           size_t error_bytes)
{
	port->kind = &interface_port;
	port->index = found->index;
	port->mtu = found->mtu;
	port->is_up = found->is_up;
	strcpy(port->name, found->name);
	return port->kind->open(port, error, error_bytes);
}

static bool open_port(struct port *port, const char *name, const struct interface *found,
                      char *error, size_t error_bytes)
{
	if (!name)
		return port->kind->open(port, error, error_bytes);
	return found->index ? open_interface(port, found, error, error_bytes)
	                    : open_tap(port, name, error, error_bytes);
}

bool ports_open(struct port *ports, const int *fds, const char *const *names, unsigned count,
                char *error, size_t error_bytes)
{
	struct interface found[BRIDGE_PORTS_MAX];
	char reason[160];

	for (unsigned i = 0; i < count; i++)
		ports[i] = (struct port){
		        .kind = &socket_port,
		        .fd = names[i] ? -1 : fds[i],
		        .is_open = true,
		        .is_up = true,
		};
	if (!find_all(found, names, count, error, error_bytes))
		return false;
	for (unsigned i = 0; i < count; i++)
		if (!open_port(&ports[i], names[i], &found[i], reason, sizeof(reason))) {
			snprintf(error, error_bytes, "--port %s: %s", names[i], reason);
			return false;
		}
	for (unsigned i = 0; i < count; i++)
		if (!ports[i].is_up)
			fprintf(stderr,
			        "ina-bridge: port %u (%s): link down; if nobody has set it up: ip "
			        "link set dev %s up\n",
			        i, ports[i].name, ports[i].name);
	path_mtu_report(ports, count);
	return true;
}

static void report(const struct port *port, unsigned number, const char *text)
{
	fprintf(stderr, "ina-bridge: port %u (%s): %s\n", number, port->name, text);
}

static enum ports_event remove_interface(struct port *port, unsigned number)
{
	if (port->kind == &tap_port && tap_port_exists(port)) {
		port->index = -1; /* its changes are not seen here */
		port->is_up = true;
		report(port, number, "moved to another network namespace: its link counts as up");
		return PORTS_UP;
	}
	port->counts.removals++;
	port->index = 0;
	port_set_up(port, false);
	report(port, number, "interface removed");
	if (port->kind == &tap_port) /* only the bridge could create it again */
		port_close(port);
	else
		port_detach(port);
	return PORTS_REMOVED;
}

/* An interface has the name of one that was removed. */
static enum ports_event attach(struct port *port, unsigned number, const struct interface *changed)
{
	const char *reason = refusal(changed);
	char error[160];

	if (reason) {
		report(port, number, reason);
		return PORTS_SAME;
	}
	if (!open_interface(port, changed, error, sizeof(error))) {
		port->index = 0;
		port->is_up = false;
		report(port, number, error);
		return PORTS_SAME;
	}
	report(port, number, port->is_up ? "interface is back" : "interface is back, link down");
	return PORTS_BACK;
}

enum ports_event ports_follow(struct port *port, unsigned number, const struct interface *changed)
{
	if (!port->kind->is_interface || !port->is_open)
		return PORTS_SAME;
	if (port->index == 0 && !changed->is_gone && !strcmp(port->name, changed->name))
		return attach(port, number, changed);
	if (port->index != changed->index)
		return PORTS_SAME;
	if (changed->is_gone)
		return remove_interface(port, number);
	port->mtu = changed->mtu;
	if (port->is_up == changed->is_up)
		return PORTS_SAME;
	port->counts.link_downs += port->is_up;
	port_set_up(port, changed->is_up);
	report(port, number, port->is_up ? "link up" : "link down");
	return port->is_up ? PORTS_UP : PORTS_DOWN;
}
