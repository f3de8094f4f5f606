/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line of ina-bridge says. */
#ifndef INA_BRIDGE_OPTIONS_H
#define INA_BRIDGE_OPTIONS_H

#include <stdint.h>

#include "config.h"
#include "sim-bridge/replay/recording.h"
#include "sim-bridge/switch/fabric.h"
#include "sim-bridge/virtual/virtual_time.h"

enum { OPTIONS_NAMED_MAX = 256, OPTIONS_SWITCH_NUMBER_MAX = 999999 };

/* The command line is read first for the name of the file, then after the file. */
enum options_source { OPTIONS_OF_LINE_FIRST, OPTIONS_OF_FILE, OPTIONS_OF_LINE };

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
	/* The place of this bridge in a fabric of several bridges: */
	unsigned uplink;             /* the port that leads up, or TOPOLOGY_NONE */
	unsigned level;              /* of the lowest switches */
	unsigned first_number;       /* of the first switch */
	unsigned checked_hosts;      /* the count of hosts given with --check-hosts, or 0 */
	bool only_checks;            /* --check or --check-hosts: nothing runs */
	const char *config_path;     /* or NULL */
	json_t *line;                /* the options of the command line, by name */
	json_t *effective;           /* all options: defaults, the file's, the command line's */
	struct config_words words;   /* of the file: other members point into them */
	char source_name[256];       /* of the program, for errors of the file */
	enum options_source source;  /* of the options that are read at the moment */
	bool is_reload;              /* the bridge runs already, perhaps as `user` */
	const char *user;            /* who runs it after its ports are open, or NULL */
	bool is_replay;              /* `replay IN OUT`: pcap_path is OUT */
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
