/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One host: a User Mode Linux kernel whose network is a socket to the bridge, whose command's
 * output comes through two pipes, and and whose guest-init talks to us over a third line.
 *
 *     BOOTING --up--> READY --go--> RUNNING --exit CODE--> FINISHED     the kernel dies: DEAD
 */
#ifndef INA_LAB_HOST_H
#define INA_LAB_HOST_H

#include "console.h"
#include "reaper.h"
#include "workspace.h"

#include <stdbool.h>
#include <sys/types.h>

enum lab_host_state {
	LAB_HOST_BOOTING,
	LAB_HOST_READY,    /* up, and waiting for the start */
	LAB_HOST_RUNNING,  /* the command runs */
	LAB_HOST_FINISHED, /* the command has ended; the host stays up */
	LAB_HOST_DEAD,     /* could not come up, or its kernel ended */
};

struct lab_host {
	int rank;
	enum lab_host_state state;
	pid_t kernel_pid; /* 0 once it is reaped */
	int exit_code;    /* of the command, when FINISHED */
	int wait_status;  /* of the kernel, when DEAD and the kernel ended */
	int talk;         /* our end of the line to guest-init; -1 when closed */
	char talk_line[64];
	size_t talk_length;
	struct lab_console output; /* its stdout */
	struct lab_console errors; /* its stderr */
};

/*
 * Starts the kernel. `network` is the host's end of the link to the bridge, one Ethernet frame a
 * datagram, or -1 in virtual time; it stays the caller's. Prints one line and returns false on
 * failure.
 */
bool lab_host_start(struct lab_host *host, struct lab_reaper *reaper,
                    const struct lab_workspace *workspace, const struct lab_options *options,
                    const char *kernel, int network);

/* Reads what guest-init says and follows it. False: it said something that makes no sense. */
bool lab_host_listen(struct lab_host *host);

/* Lets the command of a READY host begin; in virtual time the bridge does. */
void lab_host_go(struct lab_host *host, const struct lab_options *options);

/* Ends the host, whatever it is doing, and reaps its kernel. */
void lab_host_end(struct lab_host *host, struct lab_reaper *reaper);

/* Closes what is still open of an ended host. */
void lab_host_close(struct lab_host *host);

/* Prints the last lines of the kernel's log to stderr. */
void lab_host_show_log(const struct lab_host *host, const struct lab_workspace *workspace);

#endif
