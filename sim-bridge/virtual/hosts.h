/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: a host's turn, in which it runs until it waits again. */
#ifndef INA_BRIDGE_VIRTUAL_HOSTS_H
#define INA_BRIDGE_VIRTUAL_HOSTS_H

#include "state.h"

/* Accepts the connection of a host's network device. */
void virtual_accept_device(struct virtual_time *time, unsigned port);

/* Lets a host run until it waits, and takes what it has sent. */
void virtual_run_host(struct virtual_time *time, struct guest *guest);

#endif
