/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `ina-lab run`, checked. */
#ifndef INA_LAB_RUN_OPTIONS_H
#define INA_LAB_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bridge_options.h"

#define LAB_MAX_HOSTS      BRIDGE_OPTIONS_HOSTS_MAX
#define LAB_MAX_RANKS      1024 /* of all hosts together; the limit of libina (INA_MAX_RANKS) */
#define LAB_BRIDGE_OPTIONS 32

/* ina-lab's own exit codes, as in timeout(1) and env(1); all others come from the command. */
enum lab_exit {
	LAB_EXIT_USAGE = 2,
	LAB_EXIT_TIMEOUT = 124,
	LAB_EXIT_FAILED = 125, /* a host or the bridge died, or could not be started */
};

struct lab_options {
	int host_count;
	int rank_counts[LAB_MAX_HOSTS]; /* commands that each host runs at the same time */
	int rank_count_given;           /* entries of rank_counts on the command line */
	int path_mtu_bytes;             /* RoCE path MTU: 256, 512, 1024, 2048 or 4096 */
	int memory_mib;                 /* of each host */
	double timeout_s;               /* for the whole run */
	double grace_s;                 /* for the other ranks, after the first failure */
	double delay_s[LAB_MAX_HOSTS];  /* how much later each rank's command starts */
	char *kernels[LAB_MAX_HOSTS];   /* absolute paths */
	bool is_qemu[LAB_MAX_HOSTS];    /* by the kernel: a QEMU machine, not User Mode Linux */
	bool prefers_qemu;              /* hosts without a kernel on the command line are that */
	const char *stats_path;         /* or NULL; relative to the caller's folder */
	const char *aggregator;         /* rtl, model or off */
	bool is_virtual;                /* in virtual time */
	bool has_taps;                  /* cables of hosts are TAP devices, not sockets */
	const char *topology;           /* of several switches; NULL: one switch */
	uint64_t seed;                  /* for faults and, in virtual time, the hosts' kernels */
	bool quiet;
	const char *virtual_option; /* an option given that needs virtual time, or NULL */
	char **command;             /* NULL-terminated, inside the caller's argv */

	/* Arguments that ina-lab passes on to the bridge unchanged: "--loss-up", "0.01", ... */
	const char *bridge_arguments[2 * LAB_BRIDGE_OPTIONS];
	int bridge_argument_count;
};

/*
 * Reads `argv` of `ina-lab run`; argv[0] is the name for messages. On an invalid argument it prints
 * one line that names the argument and exits with LAB_EXIT_USAGE; --help exits with 0. `options`
 * keeps pointers into argv.
 */
void lab_options_parse(struct lab_options *options, int argc, char **argv);

#endif
