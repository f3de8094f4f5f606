/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that a program reads from a descriptor. */
#ifndef INA_COMMON_SIGNALS_H
#define INA_COMMON_SIGNALS_H

#include <signal.h>
#include <sys/signalfd.h>

/*
 * Blocks `signals`, a list that ends with 0. Returns a descriptor from which the signals are read,
 * or -1 with errno.
 */
static inline int ina_signals_open(const int *signals)
{
	sigset_t set;

	sigemptyset(&set);
	for (; *signals; signals++)
		sigaddset(&set, *signals);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

#endif
