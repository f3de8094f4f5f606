/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One host: a User Mode Linux kernel, or a QEMU machine (qemu.h). Its network is a link to the
 * bridge, and sockets carry the output of its command and the messages between its guest-init and
 * ina-lab.
 *
 *     BOOTING --up--> READY --go--> RUNNING --exit CODE--> FINISHED
 *
 * A host whose kernel ends, or whose set-up fails, becomes DEAD.
 */
#ifndef INA_LAB_HOST_H
#define INA_LAB_HOST_H

#include "console.h"
#include "parts.h"
#include "reaper.h"
#include "workspace.h"

#include <stdbool.h>
#include <sys/types.h>

enum lab_host_state {
	LAB_HOST_BOOTING,
	LAB_HOST_READY,    /* up, and waits for `go` */
	LAB_HOST_RUNNING,  /* the command runs */
	LAB_HOST_FINISHED, /* the command has ended; the host stays up */
	LAB_HOST_DEAD,     /* its set-up failed, or its kernel has ended */
};

struct lab_host {
	int rank;
	enum lab_host_state state;
	pid_t kernel_pid; /* 0 once it has been reaped */
	int exit_code;    /* of the command, if FINISHED */
	int wait_status;  /* of the kernel, if DEAD because the kernel has ended */
	int talk;         /* ina-lab's end of the socket to guest-init; -1 if closed */
	char talk_line[64];
	size_t talk_length;
	struct lab_console output; /* its stdout */
	struct lab_console errors; /* its stderr */
};

/*
 * Starts the kernel. `network` is the host's end of the link to the bridge, with one Ethernet frame
 * in each datagram, or -1 in virtual time; the caller keeps its ownership. On failure, prints one
 * line and returns false.
 */
bool lab_host_start(struct lab_host *host, struct lab_reaper *reaper,
                    const struct lab_workspace *workspace, const struct lab_options *options,
                    const struct lab_parts *parts, int network);

/* Reads messages from guest-init and acts on them. Returns false after an invalid message. */
bool lab_host_listen(struct lab_host *host);

/* Starts the command of a READY host; in virtual time the bridge sends the `go` instead. */
void lab_host_go(struct lab_host *host, const struct lab_options *options);

/* Ends the host in any state, and reaps its kernel. */
void lab_host_end(struct lab_host *host, struct lab_reaper *reaper);

/* Closes the descriptors of an ended host that are still open. */
void lab_host_close(struct lab_host *host);

/* Prints the last lines of the kernel's log to stderr. */
void lab_host_show_log(const struct lab_host *host, const struct lab_workspace *workspace);

#endif
