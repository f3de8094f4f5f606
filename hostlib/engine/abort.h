/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ina_abort(): any thread may ask for it; the thread that makes progress on the communicator
 * carries it out.
 */
#ifndef INA_ENGINE_ABORT_H
#define INA_ENGINE_ABORT_H

#include <stdatomic.h>
#include <stdbool.h>

/* All zero: no thread has asked. */
struct ina_abort {
	atomic_bool claimed; /* by the first thread that asks, whose text counts */
	atomic_bool asked;
	atomic_bool wakes; /* there is a progress thread, which ina_abort() wakes */
	char why[200];
};

void ina_abort_ask(struct ina_abort *abort, const char *why);

#endif
