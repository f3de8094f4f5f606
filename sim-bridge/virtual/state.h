/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: what its parts share, the configuration and the state of a run. */
#ifndef INA_BRIDGE_VIRTUAL_STATE_H
#define INA_BRIDGE_VIRTUAL_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "guest.h"
#include "muster.h"
#include "sim-bridge/switch/fabric.h"

enum { VIRTUAL_RESETS_MAX = 64 };

/* Times in ns after all hosts have started. */
struct virtual_faults {
	uint64_t start_delay_ns;
	uint64_t kill_ns; /* or GUEST_NEVER */
};

struct virtual_config {
	int clock_fd; /* listening socket, for the hosts' clocks; -1: real time */
	double host_packet_ns;
	double host_byte_ns;
	bool shows_progress;
	const char *share_path; /* where a program says how much it has done; or NULL */
	struct virtual_faults faults[BRIDGE_PORTS_MAX];
	/* When an aggregator is reset, in ns after all hosts have started. */
	struct virtual_reset {
		uint64_t at_ns;
		unsigned number; /* of the switch, or TOPOLOGY_NONE: all */
	} resets[VIRTUAL_RESETS_MAX];
	unsigned reset_count;
};

struct virtual_time {
	const struct virtual_config *config;
	struct fabric *fabric;
	struct frame_pool *pool;
	unsigned count;
	struct guest *guests;  /* of each port, as all lists here */
	double *busy_until_ns; /* the hosts' processors */
	uint64_t marked_frames;
	struct muster muster;
	int *listen_fds;
	struct guest **running; /* room for all */
	struct pollfd *polled;  /* room for all descriptors of a start */
	int signal_fd;          /* SIGTERM, SIGINT: to end at once */
	int end_fd;        /* SIGUSR1: to end as soon as all hosts have ended; read only then */
	uint64_t now_ns;   /* since the hosts were switched on */
	uint64_t start_ns; /* when all commands started; GUEST_NEVER before */
	uint64_t end_ns;   /* when the last one had ended, or time stopped */
	uint64_t frames;   /* that hosts sent and received */
	uint64_t runs;     /* of hosts */
	bool is_over;
	double shown_s;  /* of real time: progress was shown last */
	char error[256]; /* not empty: time could not go on */
};

/* Where the hosts' clocks begin: 2026-01-01, whatever day it is. */
#define VIRTUAL_EPOCH_NS 1767225600000000000u

/* Time goes no further. */
void virtual_stop(struct virtual_time *time);

/* ... because of this; the first reason counts. */
__attribute__((format(printf, 2, 3))) void virtual_fail(struct virtual_time *time,
                                                        const char *format, ...);

/* Enters an event into the calendar; context: the struct, id: the port. False: it has to be
 * dropped. */
bool virtual_plan(struct virtual_time *time, uint64_t time_ns, event_run *run, struct frame *frame,
                  unsigned port);

/* Interrupts a host for its device. */
void virtual_call(struct virtual_time *time, struct guest *guest, unsigned queue);

#endif
