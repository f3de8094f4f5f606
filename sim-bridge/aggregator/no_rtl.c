/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the place of rtl_aggregator.cpp in an ina-bridge without the RTL (INA_BRIDGE_RTL=OFF). */
#include <stdio.h>

#include "engine.h"

struct engine *rtl_aggregator_open(const struct engine_config *config, engine_emit *emit,
                                   void *context, char *error, size_t error_bytes)
{
	(void)config;
	(void)emit;
	(void)context;
	snprintf(error, error_bytes,
	         "this ina-bridge was built without the RTL: use --aggregator model");
	return NULL;
}
