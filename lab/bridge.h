/* SPDX-License-Identifier: Apache-2.0 */
/* The bridge of a run: the ina-bridge process, and its link to each host. */
#ifndef INA_LAB_BRIDGE_H
#define INA_LAB_BRIDGE_H

#include "run_options.h"
#include "reaper.h"
#include "workspace.h"

#include <limits.h>
#include <stdbool.h>

struct lab_bridge {
	pid_t pid; /* 0 if it is not running */
	int wait_status;
	char stats_path[PATH_MAX + 64]; /* the file for its counters */
	char progress_argument[PATH_MAX + 64];
	int link_count;
	bool has_taps;
	int *host_ends; /* the hosts' ends of the links; -1 if closed, and in virtual time, in
	                 * which hosts connect to sockets in the workspace */
};

/*
 * Finds ina-bridge: the program that INA_BRIDGE names in the environment, or the one next to this
 * executable. Writes its path to `path` (PATH_MAX bytes), and returns false if that is not an
 * executable program.
 */
bool lab_bridge_find(char *path);

/*
 * Runs the bridge to check the options that only it can check, before any host is booted. Returns
 * 0, or an exit code after one line was printed.
 */
int lab_bridge_check(const struct lab_options *options);

/*
 * Starts the bridge with a port for each host. On failure, prints one line and returns false. In
 * either case the caller calls lab_bridge_close() later.
 */
bool lab_bridge_start(struct lab_bridge *bridge, struct lab_reaper *reaper,
                      const struct lab_workspace *workspace, const struct lab_options *options);

/*
 * Closes ina-lab's copies of the first `host_count` host ends, if they are sockets. After that, a
 * port of the bridge closes when its host ends. TAP devices remain, like the cable of a dead host.
 */
void lab_bridge_close_host_ends(struct lab_bridge *bridge, int host_count);

/*
 * For virtual time, after all hosts have reported that their commands have ended: waits up to
 * `patience_s` seconds until the bridge has seen this too and has ended. If hosts were killed
 * before that, real time would decide how many of their last frames are counted.
 */
void lab_bridge_end_with_hosts(struct lab_bridge *bridge, double patience_s);

/*
 * Asks the bridge to end, so that it writes its counters and closes the capture. Kills it if it has
 * not ended after `patience_s` seconds. Returns true if it ended with exit code 0.
 */
bool lab_bridge_end(struct lab_bridge *bridge, struct lab_reaper *reaper, double patience_s);

/* Closes ina-lab's ends of the links. */
void lab_bridge_close(struct lab_bridge *bridge);

#endif
