/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line of ina-bridge says. */
#ifndef INA_BRIDGE_OPTIONS_H
#define INA_BRIDGE_OPTIONS_H

#include <stdint.h>

#include "sim-bridge/replay/recording.h"
#include "sim-bridge/switch/fabric.h"
#include "sim-bridge/virtual/virtual_time.h"

enum { OPTIONS_NAMED_MAX = 256 };

struct options {
	struct fabric_config fabric;
	struct virtual_config time;
	/* Values for switches and cables for which no option sets a value. */
	struct bridge_config every_switch;
	struct cable_config every_cable;
	int port_fds[BRIDGE_PORTS_MAX]; /* -1 for a port with a name */
	const char
	        *port_names[BRIDGE_PORTS_MAX]; /* as ports_open() takes them; NULL for a socket */
	unsigned port_count;
	unsigned
	        checked_hosts; /* the count of hosts given with --check, which runs nothing; or 0 */
	bool is_replay;        /* `replay IN OUT`: pcap_path is OUT */
	const char *replay_path;     /* IN */
	struct recording *recording; /* NULL without a replay; the caller closes it */
	const char *pcap_path;       /* or NULL */
	uint64_t pcap_limit_bytes;
	const char *stats_path;   /* or NULL */
	const char *control_path; /* of the control socket, or NULL */
	unsigned control_mode;    /* of its file */
	const char *metrics_at;   /* [ADDRESS:]PORT, or NULL */
	bool has_log;
	/* The times of --cut, indexed by host. */
	struct {
		uint64_t from_ns; /* or CALENDAR_NEVER */
		uint64_t until_ns;
	} cuts[BRIDGE_PORTS_MAX];
	/* The texts of options, as written on the command line. */
	const char *topology; /* or NULL */
	const char *settings[OPTIONS_NAMED_MAX];
	unsigned setting_count;
	const char *pcap_cables[OPTIONS_NAMED_MAX];
	unsigned pcap_cable_count;
	const char *cable_paths[TOPOLOGY_CABLES_MAX]; /* of --pcap-cable NAME=FILE; or NULL */
};

#endif
