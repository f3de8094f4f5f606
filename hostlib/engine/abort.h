/* SPDX-License-Identifier: Apache-2.0 */
/* ina_abort(): asked for by any thread, carried out by the one that goes on with the communicator.
 */
#ifndef INA_ENGINE_ABORT_H
#define INA_ENGINE_ABORT_H

#include <stdatomic.h>
#include <stdbool.h>

/* All zero: nobody has asked. */
struct ina_abort {
	atomic_bool claimed; /* by the first who asks: the text is his */
	atomic_bool asked;
	char why[200];
};

void ina_abort_ask(struct ina_abort *abort, const char *why);

#endif
