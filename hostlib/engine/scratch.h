/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the library for elements for which the caller gives none. It may be registered, and the
 * device may read it after the call, so it is never freed before the connections are.
 */
#ifndef INA_ENGINE_SCRATCH_H
#define INA_ENGINE_SCRATCH_H

#include "hostlib/options/error.h"

struct ina_scratch_block;

struct ina_scratch {
	/* the block in use; it links to those that were too small */
	struct ina_scratch_block *block;
};

/* Returns at least this number of bytes, with undefined contents; NULL if memory runs out. */
void *ina_scratch_get(struct ina_scratch *scratch, size_t bytes);

void ina_scratch_free(struct ina_scratch *scratch);

#endif
