/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigns the machine's processors to the bridge and the hosts.
 *
 * In virtual time, bridge and hosts take turns once all commands have started. On a single
 * processor a turn costs a third less than one that moves to another processor. Until then the
 * hosts boot in parallel on all processors. In real time everything waits for the simulated RTL, so
 * the bridge has a processor to itself and the hosts have the others. The model and the plain
 * switch share all processors with the hosts.
 */
#ifndef INA_LAB_PROCESSORS_H
#define INA_LAB_PROCESSORS_H

#include <sys/types.h>

#include "run_options.h"

/*
 * Call this after the bridge has started and before any host has: hosts inherit the processors of
 * this process. If the system does not allow it, the run is only slower.
 */
void lab_processors_share(const struct lab_options *options, pid_t bridge);

/*
 * Used in virtual time once all hosts are up, for ina-lab itself (0) first. Moves the process and
 * its children to the processor on which ina-lab runs. The children of a host's kernel are the
 * processes of its guest. If the system does not allow it, the run is only slower.
 */
void lab_processors_gather(pid_t process);

#endif
