/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host in virtual time: a User Mode Linux kernel to which the bridge provides the clock (the
 * bridge is its calendar, include/uapi/linux/um_timetravel.h, `time-travel=ext:PORT:SOCKET`) and
 * the network device.
 *
 *     ABSENT --START--> RUNNING --WAIT--> WAITING --RUN--> RUNNING ...     at its end: GONE
 *
 * Time stands still while the guest runs: everything that it does between RUN and WAIT happens at
 * the same virtual time.
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
	uint64_t request_ns; /* the time at which it wants to run, or GUEST_NEVER */
	bool is_called;      /* the device has interrupted it since it last ran */
	uint32_t heard;      /* sequence number of its last message */
	bool may_hurry;      /* it exchanges messages with the calendar alone: see guest_run() */
	bool is_ahead;       /* the answer to its next message has already been sent */
	struct vhost_device device;
	struct port_counts counts;
};

void guest_open(struct guest *guest, unsigned port);
void guest_close(struct guest *guest);

/*
 * Reads the first message on a connection to the calendar's socket. If it introduces one of the
 * `count` guests that has no connection yet, and comes within `patience_ms`, that guest takes
 * ownership of `fd`. Otherwise returns false.
 */
bool guest_accept_clock(struct guest *guests, unsigned count, int fd, int patience_ms);

/* Reads one message from the guest's clock and acts on it; `now_ns` is the current time. */
void guest_hear_clock(struct guest *guest, uint64_t now_ns, uint64_t epoch_ns);

/*
 * Lets the guest run. The caller then calls guest_hear_clock() and vhost_serve() until it waits.
 *
 * Each message whose answer the guest waits for costs two context switches. Time stands still, so
 * the bridge knows all answers in advance, and until the guest says WAIT, one more message follows
 * each message. So a guest that may hurry finds each answer before it asks. It need not ask for
 * time again for events at this very time, above all its interrupts.
 */
void guest_run(struct guest *guest, uint64_t now_ns);

/*
 * Interrupts the guest for its device, and waits until it has asked for time to handle that.
 * Returns false if it does not answer.
 */
bool guest_call(struct guest *guest, unsigned queue, uint64_t now_ns, uint64_t epoch_ns);

/* Closes the guest's connections; it then counts as gone, even if its process runs on. */
void guest_end(struct guest *guest);

#endif
