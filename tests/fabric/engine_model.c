/* SPDX-License-Identifier: Apache-2.0 */
/* The model alone. */
#include <stdlib.h>

#include "engine.h"

const struct engine_size engine_size;

struct engine {
	struct aggregator_config config;
	aggregator_emit *emit;
	void *context;
	struct aggregator *aggregator;
};

static void open_model(struct engine *engine)
{
	engine->aggregator = aggregator_open(&engine->config, engine->emit, engine->context);
	if (!engine->aggregator)
		abort();
}

struct engine *engine_open(const struct aggregator_config *config, aggregator_emit *emit,
                           void *context, uint64_t seed)
{
	struct engine *engine = malloc(sizeof(*engine));

	(void)seed;
	if (!engine)
		abort();
	*engine = (struct engine){.config = *config, .emit = emit, .context = context};
	open_model(engine);
	return engine;
}

void engine_close(struct engine *engine)
{
	aggregator_close(engine->aggregator);
	free(engine);
}

void engine_put(struct engine *engine, const struct engine_frame *frames, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		aggregator_put(engine->aggregator, frames[i].port, frames[i].bytes,
		               frames[i].length);
}

void engine_age(struct engine *engine)
{
	aggregator_age(engine->aggregator);
}

void engine_tick(struct engine *engine)
{
	aggregator_tick(engine->aggregator);
}

void engine_patience(struct engine *engine)
{
	aggregator_patience(engine->aggregator);
}

void engine_reset(struct engine *engine)
{
	aggregator_close(engine->aggregator);
	open_model(engine);
}
