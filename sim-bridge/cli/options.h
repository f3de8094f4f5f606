/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of ina-bridge. */
#ifndef INA_BRIDGE_OPTIONS_H
#define INA_BRIDGE_OPTIONS_H

#include <stdint.h>

#include "sim-bridge/switch/bridge.h"
#include "sim-bridge/virtual/virtual_time.h"

enum options_aggregator { OPTIONS_RTL, OPTIONS_MODEL, OPTIONS_OFF };

struct options {
	struct bridge_config bridge;
	struct virtual_config time;
	uint64_t aggregator; /* one of enum options_aggregator */
	int port_fds[BRIDGE_PORTS_MAX];
	const char *pcap_path; /* or NULL */
	uint64_t pcap_limit_bytes;
	const char *stats_path; /* or NULL */
};

/* Ends the program with one line on stderr where the command line is wrong. */
void options_parse(struct options *options, int argc, char **argv);

#endif
