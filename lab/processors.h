/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the machine's processors the bridge runs on, and which the hosts.
 *
 * In virtual time they take turns: on one processor each turn costs a third less than when it goes
 * from one to the other. In real time the simulated RTL is what all wait for: it gets a processor
 * to itself, and the hosts have the others. The model and the plain switch share all with them.
 */
#ifndef INA_LAB_PROCESSORS_H
#define INA_LAB_PROCESSORS_H

#include <sys/types.h>

#include "options.h"

/*
 * To be called when the bridge has been started and no host has: those get ours. Where it is not
 * allowed, a run is only slower.
 */
void lab_processors_share(const struct lab_options *options, pid_t bridge);

#endif
