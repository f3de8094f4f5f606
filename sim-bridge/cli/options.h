/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of ina-bridge. */
#ifndef INA_BRIDGE_OPTIONS_H
#define INA_BRIDGE_OPTIONS_H

#include <stdint.h>

#include "sim-bridge/switch/fabric.h"
#include "sim-bridge/virtual/virtual_time.h"

enum { OPTIONS_NAMED_MAX = 256 };

struct options {
	struct fabric_config fabric;
	struct virtual_config time;
	/* What holds where a switch or cable has nothing of its own. */
	struct bridge_config every_switch;
	struct cable_config every_cable;
	int port_fds[BRIDGE_PORTS_MAX];
	unsigned port_count;
	unsigned checked_hosts; /* of --check, which runs nothing; else 0 */
	const char *pcap_path; /* or NULL */
	uint64_t pcap_limit_bytes;
	const char *stats_path; /* or NULL */
	/* From --cut, by host. */
	struct {
		uint64_t from_ns; /* or CALENDAR_NEVER */
		uint64_t until_ns;
	} cuts[BRIDGE_PORTS_MAX];
	/* As they were written. */
	const char *topology; /* or NULL */
	const char *settings[OPTIONS_NAMED_MAX];
	unsigned setting_count;
	const char *pcap_cables[OPTIONS_NAMED_MAX];
	unsigned pcap_cable_count;
};

/*
 * Ends the program with one line on stderr where the command line is wrong. The topology is the
 * caller's to close.
 */
void options_parse(struct options *options, int argc, char **argv);

#endif
