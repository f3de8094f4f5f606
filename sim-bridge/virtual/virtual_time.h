/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives a fabric and its hosts in virtual time. This is modelled:
 *
 *   host (no time, or a cost per packet and per byte) -> unbounded queue of its device
 *   -> cable -> switch: whole frames, forwarding time, aggregator with its own clock
 *   -> queue of the port, bounded, marks congestion -> cable -> host
 *
 * One host runs at a time. Of events at the same time, the network's come first; the hosts follow
 * in the order of their ports.
 */
#ifndef INA_BRIDGE_VIRTUAL_TIME_H
#define INA_BRIDGE_VIRTUAL_TIME_H

#include "state.h"

/*
 * `listen_fds`: a listening socket for the network device of each host. Takes ownership of them,
 * and receives the signals SIGTERM, SIGINT and SIGUSR1 from then on. Returns 0, or -1 with errno.
 * The caller sets `fabric` before virtual_time_run().
 */
int virtual_time_open(struct virtual_time *time, const struct virtual_config *config,
                      struct frame_pool *pool, const int *listen_fds, unsigned count);
void virtual_time_close(struct virtual_time *time);

/* Runs until a signal arrives. Time stops when all commands have ended. */
void virtual_time_run(struct virtual_time *time);

#endif
