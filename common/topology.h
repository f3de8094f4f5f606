/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric: switches, hosts, the cables between, and the options that one cable or switch has of
 * its own. The format of a file and the names are in lab/README.md.
 *
 * A cable leads up: from a host to its switch, or from a switch to one that its uplinks name. A
 * switch is a level above the highest of those below it. Loops are the multipath that several
 * uplinks make, and no others.
 */
#ifndef INA_COMMON_TOPOLOGY_H
#define INA_COMMON_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "bridge_options.h"

enum {
	TOPOLOGY_HOSTS_MAX = BRIDGE_OPTIONS_HOSTS_MAX,
	TOPOLOGY_SWITCHES_MAX = 128,
	TOPOLOGY_PORTS_MAX = 16, /* of a switch, but for a single one */
	TOPOLOGY_CABLES_MAX = TOPOLOGY_HOSTS_MAX + TOPOLOGY_SWITCHES_MAX * TOPOLOGY_PORTS_MAX,
	TOPOLOGY_LEVELS_MAX = 3,
	TOPOLOGY_NAME_BYTES = 32,
	TOPOLOGY_ERROR_BYTES = 512,
};

#define TOPOLOGY_NONE (~0u)

struct topology_switch {
	char name[TOPOLOGY_NAME_BYTES];
	unsigned level; /* 1: the lowest */
	/* By port: hosts in their order, switches below in theirs, then the uplinks. */
	unsigned ports;
	unsigned first_uplink; /* a port */
	unsigned cables[TOPOLOGY_HOSTS_MAX];
	unsigned uplinks[TOPOLOGY_PORTS_MAX]; /* switches */
	unsigned uplink_count;
};

/* Those of hosts come first, each with its host's number. */
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
	unsigned number; /* of the cable or switch */
	struct bridge_option option;
};

struct topology {
	unsigned host_count;
	unsigned switch_count;
	unsigned cable_count;
	unsigned host_switch[TOPOLOGY_HOSTS_MAX];
	struct topology_switch switches[TOPOLOGY_SWITCHES_MAX];
	struct topology_cable cables[TOPOLOGY_CABLES_MAX];
	struct topology_setting *settings; /* the last one of an option counts */
	unsigned setting_count;
};

void topology_close(struct topology *topology); /* NULL is fine */

/* TOPOLOGY_NONE: there is none of that name. */
unsigned topology_find_cable(const struct topology *topology, const char *name);
unsigned topology_find_switch(const struct topology *topology, const char *name);

#endif
