/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the library for elements that the caller gives none for. It may be registered, and the
 * device may read it after the call: so it is never freed before the connections are.
 */
#ifndef INA_ENGINE_SCRATCH_H
#define INA_ENGINE_SCRATCH_H

#include "hostlib/options/error.h"

struct ina_scratch_block;

struct ina_scratch {
	struct ina_scratch_block *block; /* the one in use, and those that were too small */
};

/* At least so many bytes, what they hold being of no meaning; NULL: no memory for them. */
void *ina_scratch_get(struct ina_scratch *scratch, size_t bytes);

void ina_scratch_free(struct ina_scratch *scratch);

#endif
