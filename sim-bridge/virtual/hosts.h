/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: the turns of hosts, each of which runs until it waits again. */
#ifndef INA_BRIDGE_VIRTUAL_HOSTS_H
#define INA_BRIDGE_VIRTUAL_HOSTS_H

#include "state.h"

/* Accepts the connection of a host's network device. */
void virtual_accept_device(struct virtual_time *time, unsigned port);

/*
 * Runs host `first`, whose turn it is, until it waits, and takes the frames that it has sent.
 * Before the common start, runs all hosts whose turn it is at that time.
 */
void virtual_run_hosts(struct virtual_time *time, struct guest *first);

#endif
