/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric: switches, hosts, the cables between them, and the options that single cables or
 * switches have. lab/README.md describes the format of a file and the names.
 *
 * A cable leads up: from a host to its switch, or from a switch to another one that it names as an
 * uplink. A switch is one level above the highest switch below it. The only loops are those made by
 * several uplinks of a switch.
 */
#ifndef INA_COMMON_TOPOLOGY_TOPOLOGY_H
#define INA_COMMON_TOPOLOGY_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bridge_options.h"

enum {
	TOPOLOGY_HOSTS_MAX = BRIDGE_OPTIONS_HOSTS_MAX,
	TOPOLOGY_SWITCHES_MAX = 128,
	TOPOLOGY_PORTS_MAX = 16, /* ports of a switch; a single switch may have more */
	TOPOLOGY_CABLES_MAX = TOPOLOGY_HOSTS_MAX + TOPOLOGY_SWITCHES_MAX * TOPOLOGY_PORTS_MAX,
	TOPOLOGY_LEVELS_MAX = 3,
	TOPOLOGY_NAME_BYTES = 32,
	TOPOLOGY_ERROR_BYTES = 512,
};

#define TOPOLOGY_NONE (~0u)

struct topology_switch {
	char name[TOPOLOGY_NAME_BYTES];
	unsigned level; /* the lowest is 1 */
	/* The order of ports: hosts, then switches below, each in their order, then uplinks. */
	unsigned ports;
	unsigned first_uplink; /* port number */
	unsigned cables[TOPOLOGY_HOSTS_MAX];
	unsigned uplinks[TOPOLOGY_PORTS_MAX]; /* numbers of switches */
	unsigned uplink_count;
};

/* The cables of hosts come first; each has the number of its host. */
struct topology_cable {
	char name[TOPOLOGY_NAME_BYTES + 8]; /* "host3", "leaf0:up1" */
	bool has_host;
	unsigned lower; /* the host or the switch at its lower end */
	unsigned lower_port;
	unsigned upper; /* a switch */
	unsigned upper_port;
};

struct topology_setting {
	bool is_of_cable;
	unsigned number; /* the cable or switch */
	struct bridge_option option;
};

struct topology {
	unsigned host_count;
	unsigned switch_count;
	unsigned cable_count;
	unsigned host_switch[TOPOLOGY_HOSTS_MAX];
	struct topology_switch switches[TOPOLOGY_SWITCHES_MAX];
	struct topology_cable cables[TOPOLOGY_CABLES_MAX];
	struct topology_setting *settings; /* if an option occurs twice, the last one counts */
	unsigned setting_count;
};

void topology_close(struct topology *topology); /* may be called with NULL */

/* Return TOPOLOGY_NONE if no cable or switch has this name. */
unsigned topology_find_cable(const struct topology *topology, const char *name);
unsigned topology_find_switch(const struct topology *topology, const char *name);

#endif
