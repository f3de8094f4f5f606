/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the machine's processors the bridge runs on, and which the hosts.
 *
 * In virtual time they take turns once all have started: on one processor each turn costs a third
 * less than when it goes from one to the other. Until then they boot at once, on all. In real time
 * the simulated RTL is what all wait for: it gets a processor to itself, and the hosts have the
 * others. The model and the plain switch share all with them.
 */
#ifndef INA_LAB_PROCESSORS_H
#define INA_LAB_PROCESSORS_H

#include <sys/types.h>

#include "options.h"

/*
 * To be called when the bridge has been started and no host has: those get ours. Where it is not
 * allowed, a run is only slower; as for the other.
 */
void lab_processors_share(const struct lab_options *options, pid_t bridge);

/* In virtual time once all hosts are up, for this process (0) first: puts it onto the one processor
 * that this one runs on, with its children: of a host's kernel, those are the processes of its
 * guest. */
void lab_processors_gather(pid_t process);

#endif
