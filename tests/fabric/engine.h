/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine that aggregates for a switch. It is the model alone (engine_model.c), or a built
 * aggregator and the model side by side (tests/rtl/test_ina_fabric.cpp); the latter ends the
 * program if the two differ.
 */
#ifndef INA_TEST_FABRIC_ENGINE_H
#define INA_TEST_FABRIC_ENGINE_H

#include "model/aggregator.h"

/* The size of each switch; 0: a random size. */
struct engine_size {
	unsigned ports, jobs;
	unsigned memory, window, grain;
	unsigned together; /* several frames may enter at the same time, in every second seed */
};
extern const struct engine_size engine_size;

struct engine;

/* The engine emits frames in engine_put() and engine_age(), as aggregator_put() does. */
struct engine *engine_open(const struct aggregator_config *config, aggregator_emit *emit,
                           void *context, uint64_t seed);
void engine_close(struct engine *engine);
struct engine_frame {
	unsigned port;
	const uint8_t *bytes;
	size_t length;
};

/* Puts in one or more frames, each by another port. The engine chooses their order. */
void engine_put(struct engine *engine, const struct engine_frame *frames, unsigned count);
void engine_age(struct engine *engine);
void engine_tick(struct engine *engine);
void engine_patience(struct engine *engine);
/* Makes the engine forget everything. It may be called at any time. */
void engine_reset(struct engine *engine);

#endif
