/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What does a switch's aggregation: the model (engine_model.c), or something that is built and the
 * model beside it (tests/rtl/test_ina_fabric.cpp), which ends the program where the two differ.
 */
#ifndef INA_TEST_FABRIC_ENGINE_H
#define INA_TEST_FABRIC_ENGINE_H

#include "model/aggregator.h"

/* Of each switch; zeros: as it is drawn. */
struct engine_size {
	unsigned ports, jobs;
	unsigned memory, window, grain;
	unsigned together; /* frames that enter at the same time, in every second seed */
};
extern const struct engine_size engine_size;

struct engine;

/* It emits in engine_put() and engine_age(), as aggregator_put() does. */
struct engine *engine_open(const struct aggregator_config *config, aggregator_emit *emit,
                           void *context, uint64_t seed);
void engine_close(struct engine *engine);
struct engine_frame {
	unsigned port;
	const uint8_t *bytes;
	size_t length;
};

/* One at least, each by another port. In what order they count is the engine's to choose. */
void engine_put(struct engine *engine, const struct engine_frame *frames, unsigned count);
void engine_age(struct engine *engine);
void engine_tick(struct engine *engine);
void engine_patience(struct engine *engine);
/* It forgets all, at any time. */
void engine_reset(struct engine *engine);

#endif
