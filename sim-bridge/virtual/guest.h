/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host in virtual time: a User Mode Linux kernel that has its clock from here (its calendar,
 * include/uapi/linux/um_timetravel.h, `time-travel=ext:PORT:SOCKET`) and its network device too.
 *
 *     ABSENT --START--> RUNNING --WAIT--> WAITING --RUN--> RUNNING ...     its end: GONE
 *
 * Time stands still while it runs: all that it does between RUN and WAIT happens at once.
 */
#ifndef INA_BRIDGE_GUEST_H
#define INA_BRIDGE_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "sim-bridge/switch/port_counts.h"
#include "vhost_user.h"

#define GUEST_NEVER UINT64_MAX

enum guest_state { GUEST_ABSENT, GUEST_RUNNING, GUEST_WAITING, GUEST_GONE };

struct guest {
	unsigned port;
	enum guest_state state;
	int clock_fd;        /* -1: not connected */
	uint64_t request_ns; /* when it wants to run, or GUEST_NEVER */
	bool is_called;      /* and has not run since */
	uint32_t heard;      /* number of its last message */
	bool may_hurry;      /* it talks to nobody but the calendar: see guest_run() */
	bool is_ahead;       /* the answer to its next message is there already */
	struct vhost_device device;
	struct port_counts counts;
};

void guest_open(struct guest *guest, unsigned port);
void guest_close(struct guest *guest);

/*
 * Takes over a connection to the calendar's socket, if one of the `count` guests that has none yet
 * introduces itself on it within `patience_ms`.
 */
bool guest_accept_clock(struct guest *guests, unsigned count, int fd, int patience_ms);

/* Reads one message on its clock and does what it says; `now_ns` is the time. */
void guest_hear_clock(struct guest *guest, uint64_t now_ns, uint64_t epoch_ns);

/*
 * Lets it run; guest_hear_clock() and vhost_serve() are then called until it waits.
 *
 * A message whose answer the guest waits for costs two context switches. As time stands still, all
 * answers are known beforehand, and until it says WAIT one more message will come: a guest that may
 * hurry finds each answer there before it asks. For what is to happen at this very time (its
 * interrupts above all) it need not ask again.
 */
void guest_run(struct guest *guest, uint64_t now_ns);

/* Interrupts it for its device, and hears it ask for time to handle that. False: no answer. */
bool guest_call(struct guest *guest, unsigned queue, uint64_t now_ns, uint64_t epoch_ns);

/* Closes its connections: it counts as gone, whatever it does. */
void guest_end(struct guest *guest);

#endif
