/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives a fabric and its hosts in virtual time. What is modelled:
 *
 *   host (no time, or a cost a packet and a byte) -> unbounded queue of its device
 *   -> cable -> switch: whole frames, forwarding time, aggregator at its own clock
 *   -> queue of the port, bounded, marks congestion -> cable -> host
 *
 * One host runs at a time. Of what happens at the same time, the network's part comes first, then
 * the hosts in the order of their ports.
 */
#ifndef INA_BRIDGE_VIRTUAL_TIME_H
#define INA_BRIDGE_VIRTUAL_TIME_H

#include "state.h"

/*
 * `listen_fds`: a listening socket for each host's network device. Takes them over, and the
 * signals SIGTERM and SIGINT. 0, or -1 with errno. The caller sets `fabric` before it runs.
 */
int virtual_time_open(struct virtual_time *time, const struct virtual_config *config,
                      struct frame_pool *pool, const int *listen_fds, unsigned count);
void virtual_time_close(struct virtual_time *time);

/* Runs until a signal. Time stops when all commands have ended. */
void virtual_time_run(struct virtual_time *time);

#endif
