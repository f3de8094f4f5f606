/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: the configuration and the state of a run, which all its parts share. */
#ifndef INA_BRIDGE_VIRTUAL_STATE_H
#define INA_BRIDGE_VIRTUAL_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "guest.h"
#include "muster.h"
#include "sim-bridge/switch/fabric.h"

enum { VIRTUAL_RESETS_MAX = 64 };

/* Times in ns after the common start of all hosts. */
struct virtual_faults {
	uint64_t start_delay_ns;
	uint64_t kill_ns; /* or GUEST_NEVER */
};

struct virtual_config {
	int clock_fd; /* listening socket for the hosts' clocks; -1: the run is in real time */
	double host_packet_ns;
	double host_byte_ns;
	bool shows_progress;
	const char *share_path; /* file in which a program writes its share of work done; or NULL */
	struct virtual_faults faults[BRIDGE_PORTS_MAX];
	/* Resets of aggregators, in ns after the common start of all hosts. */
	struct virtual_reset {
		uint64_t at_ns;
		unsigned number; /* the switch, or TOPOLOGY_NONE: all */
	} resets[VIRTUAL_RESETS_MAX];
	unsigned reset_count;
};

struct virtual_time {
	const struct virtual_config *config;
	struct fabric *fabric;
	struct frame_pool *pool;
	unsigned count;
	struct guest *guests;  /* indexed by port, like all lists here */
	double *busy_until_ns; /* of the hosts' processors */
	uint64_t marked_frames;
	struct muster muster;
	int *listen_fds;
	struct guest **running; /* room for all guests */
	struct pollfd *polled;  /* room for all descriptors that the start waits for */
	int signal_fd;          /* SIGTERM, SIGINT: end immediately */
	int end_fd;             /* SIGUSR1: end once all hosts have ended; read only after that */
	uint64_t now_ns;        /* since the hosts were switched on */
	uint64_t start_ns;      /* when all commands started; GUEST_NEVER before that */
	uint64_t end_ns;        /* when the last command ended, or time stopped */
	uint64_t frames;        /* frames that hosts have sent or received */
	uint64_t runs;          /* turns of hosts */
	bool is_over;
	double shown_s;  /* real time at which progress was last shown */
	char error[256]; /* if not empty, the reason why time could not continue */
};

/* The hosts' clocks begin at 2026-01-01, whatever the real date is. */
#define VIRTUAL_EPOCH_NS 1767225600000000000u

/* Stops time, which ends the run. */
void virtual_stop(struct virtual_time *time);

/* Stops time and records the reason; only the first reason is kept. */
__attribute__((format(printf, 2, 3))) void virtual_fail(struct virtual_time *time,
                                                        const char *format, ...);

/*
 * Enters an event into the calendar, with the struct virtual_time as its context and the port as
 * its id. Returns false if the calendar is full; the caller then drops the frame.
 */
bool virtual_plan(struct virtual_time *time, uint64_t time_ns, event_run *run, struct frame *frame,
                  unsigned port);

/* Interrupts a host for its device. */
void virtual_call(struct virtual_time *time, struct guest *guest, unsigned queue);

#endif
