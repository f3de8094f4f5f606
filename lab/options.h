/* SPDX-License-Identifier: Apache-2.0 */
/* What the user asked for: the command line of `ina-lab run`, checked. */
#ifndef INA_LAB_OPTIONS_H
#define INA_LAB_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bridge_options.h"

#define LAB_MAX_HOSTS      BRIDGE_OPTIONS_HOSTS_MAX
#define LAB_MAX_RANKS      1024 /* of all hosts together: as many as libina has (INA_MAX_RANKS) */
#define LAB_BRIDGE_OPTIONS 32

/* ina-lab's own exit codes, as timeout(1) and env(1) have them; all others are the command's. */
enum lab_exit {
	LAB_EXIT_USAGE = 2,
	LAB_EXIT_TIMEOUT = 124,
	LAB_EXIT_FAILED = 125, /* a host or the bridge died, or could not be started */
};

struct lab_options {
	int host_count;
	int rank_counts[LAB_MAX_HOSTS]; /* commands that each host runs at once */
	int rank_count_given;           /* entries of rank_counts that the user gave */
	int path_mtu_bytes;             /* RoCE path MTU: 256, 512, 1024, 2048 or 4096 */
	int memory_mib;                 /* of each host */
	double timeout_s;               /* for the whole run */
	double grace_s;                 /* for the other ranks once one has failed */
	double delay_s[LAB_MAX_HOSTS];  /* how much later each rank's command starts */
	const char *stats_path;         /* or NULL; relative to the caller's folder */
	const char *aggregator;         /* rtl, model or off */
	bool is_virtual;                /* in virtual time */
	const char *topology;           /* several switches; or NULL */
	uint64_t seed;                  /* of faults and, in virtual time, of the hosts' kernels */
	bool quiet;
	const char *virtual_option; /* one that is for virtual time only, or NULL */
	char **command;             /* NULL-terminated, inside the caller's argv */

	/* What the bridge is told beyond its ports, as it came: "--loss-up", "0.01", ... */
	const char *bridge_arguments[2 * LAB_BRIDGE_OPTIONS];
	int bridge_argument_count;
};

/*
 * Reads `argv` of `ina-lab run`, argv[0] being the name to show. On bad input it prints one line
 * that names it and exits with LAB_EXIT_USAGE; --help exits with 0. `options` keeps pointers into
 * argv.
 */
void lab_options_parse(struct lab_options *options, int argc, char **argv);

#endif
