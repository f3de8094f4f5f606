/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of virtual_time.h share: frames' ways, the hosts' life, and the run. */
#ifndef INA_BRIDGE_VIRTUAL_PARTS_H
#define INA_BRIDGE_VIRTUAL_PARTS_H

#include "virtual_time.h"

/* Time goes no further. */
void virtual_stop(struct virtual_time *time);

/* ... because of this; the first reason counts. */
__attribute__((format(printf, 2, 3))) void virtual_fail(struct virtual_time *time,
                                                        const char *format, ...);

/* Enters an event; context: the struct, id: the port. False: it has to be dropped. */
bool virtual_plan(struct virtual_time *time, uint64_t time_ns, event_run *run, struct frame *frame,
                  unsigned port);

/* Tells a host that its device has something. */
void virtual_call(struct virtual_time *time, struct guest *guest, unsigned queue);

/* All that a host has sent since it began to run, at the time at which it did. */
void virtual_empty_queue(struct virtual_time *time, unsigned port);

/* What the muster says follows: the start of all, or the end. */
void virtual_follow_muster(struct virtual_time *time, enum muster_news news);

/* A host is not there any more. */
void virtual_lose_host(struct virtual_time *time, unsigned port);

/* Takes a host's network device in that has come to its socket. */
void virtual_accept_device(struct virtual_time *time, unsigned port);

/* Lets a host run until it waits, and takes what it has sent. */
void virtual_run_host(struct virtual_time *time, struct guest *guest);

#endif
