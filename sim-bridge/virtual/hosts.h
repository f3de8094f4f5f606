/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: hosts' turns, in which they run until they wait again. */
#ifndef INA_BRIDGE_VIRTUAL_HOSTS_H
#define INA_BRIDGE_VIRTUAL_HOSTS_H

#include "state.h"

/* Accepts the connection of a host's network device. */
void virtual_accept_device(struct virtual_time *time, unsigned port);

/* Lets the host whose turn it is run until it waits, and takes what it has sent; before the common
 * start all whose turn it is at that time. */
void virtual_run_hosts(struct virtual_time *time, struct guest *first);

#endif
