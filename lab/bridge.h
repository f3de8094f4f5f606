/* SPDX-License-Identifier: Apache-2.0 */
/* The bridge of a run: the ina-bridge process, and a link from it to each host. */
#ifndef INA_LAB_BRIDGE_H
#define INA_LAB_BRIDGE_H

#include "options.h"
#include "reaper.h"
#include "workspace.h"

#include <limits.h>
#include <stdbool.h>

struct lab_bridge {
	pid_t pid; /* 0 when it does not run */
	int wait_status;
	char stats_path[PATH_MAX + 64]; /* where it writes its counters */
	char progress_argument[PATH_MAX + 64];
	int link_count;
	int *host_ends; /* of the links; -1 when closed, or where hosts connect to sockets of the
	                 * workspace */
};

/*
 * Finds ina-bridge: INA_BRIDGE in the environment, or beside this executable. Returns false if
 * `path` (PATH_MAX bytes) is no program that can be executed.
 */
bool lab_bridge_find(char *path);

/*
 * Has the bridge check the options that only it can judge, before any host is booted. 0, or an exit
 * code, when one line has been printed.
 */
int lab_bridge_check(const struct lab_options *options);

/*
 * Starts the bridge with a port for each host. Prints one line and returns false on failure. To be
 * closed by lab_bridge_close() in either case.
 */
bool lab_bridge_start(struct lab_bridge *bridge, struct lab_reaper *reaper,
                      const struct lab_workspace *workspace, const struct lab_options *options);

/* Closes our copies of the first `host_count` host ends: once the hosts have theirs, a port closes
 * when its host ends. */
void lab_bridge_close_host_ends(struct lab_bridge *bridge, int host_count);

/*
 * In virtual time, after all hosts have told us that their commands have ended: waits up to
 * `patience_s` until the bridge has seen the same and has ended. If hosts were killed before, real
 * time would decide how many of their last frames are counted.
 */
void lab_bridge_end_with_hosts(struct lab_bridge *bridge, double patience_s);

/* Asks the bridge to end, so that it writes its counters and closes the capture; ends it itself if
 * that takes more than `patience_s`. Returns true if it ended well. */
bool lab_bridge_end(struct lab_bridge *bridge, struct lab_reaper *reaper, double patience_s);

/* Closes our side of the links. */
void lab_bridge_close(struct lab_bridge *bridge);

#endif
