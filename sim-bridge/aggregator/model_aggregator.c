/* SPDX-License-Identifier: Apache-2.0 */
/* The C model as an engine. It emits frames during put(), so work() and run() do nothing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bridge_options.h"
#include "model/aggregator.h"
#include "engine.h"

struct model_engine {
	struct engine engine;
	struct aggregator *aggregator;
};

static void put(struct engine *engine, unsigned port, const uint8_t *frame, size_t length)
{
	aggregator_put(((struct model_engine *)engine)->aggregator, port, frame, length);
}

static enum engine_state work(struct engine *engine)
{
	(void)engine;
	return ENGINE_IDLE;
}

static void run(struct engine *engine)
{
	(void)engine;
}

static void age(struct engine *engine)
{
	aggregator_age(((struct model_engine *)engine)->aggregator);
}

static void tick(struct engine *engine)
{
	aggregator_tick(((struct model_engine *)engine)->aggregator);
}

static void patience(struct engine *engine)
{
	aggregator_patience(((struct model_engine *)engine)->aggregator);
}

static void read_counters(const struct engine *engine, struct ina_counters *counters)
{
	*counters = *aggregator_counters(((const struct model_engine *)engine)->aggregator);
}

static bool read_job(const struct engine *engine, unsigned index, struct report_job *job)
{
	return aggregator_read_job(((const struct model_engine *)engine)->aggregator, index, job);
}

static bool forget(struct engine *engine, uint64_t job_id)
{
	return aggregator_forget(((struct model_engine *)engine)->aggregator, job_id);
}

static uint64_t no_clocks(const struct engine *engine)
{
	(void)engine;
	return 0;
}

static void close_model(struct engine *engine)
{
	aggregator_close(((struct model_engine *)engine)->aggregator);
	free(engine);
}

static const struct engine_operations operations = {
        .kind = "model",
        .put = put,
        .work = work,
        .run = run,
        .age = age,
        .tick = tick,
        .patience = patience,
        .read_counters = read_counters,
        .read_job = read_job,
        .forget = forget,
        .clocks = no_clocks,
        .close = close_model,
};

static unsigned or_default(unsigned number, unsigned by_default)
{
	return number ? number : by_default;
}

static struct aggregator_config configure(const struct engine_config *wanted, void *context)
{
	struct aggregator_config config = {
	        .ports = wanted->ports < 2 ? 2 : wanted->ports,
	        .jobs = or_default(wanted->jobs, BRIDGE_OPTIONS_JOBS_DEFAULT),
	        .memory_packets =
	                or_default(wanted->memory_packets, AGGREGATOR_DEFAULT_MEMORY_PACKETS),
	        .window_packets =
	                or_default(wanted->window_packets, AGGREGATOR_DEFAULT_WINDOW_PACKETS),
	        .grain_packets = AGGREGATOR_DEFAULT_GRAIN_PACKETS,
	        .quota = wanted->quota,
	        .vlan_quota = wanted->vlan_quota,
	        .trusted_ports = wanted->trusted_ports,
	        .has_quiet_time = wanted->has_quiet_time,
	        .has_patience = wanted->has_patience,
	        .place = {.level = wanted->level,
	                  .uplinks = wanted->uplinks,
	                  .id = wanted->number + 1},
	        .tell = wanted->tell,
	        .tell_context = context,
	};

	_Static_assert(sizeof(config.port_priority) == sizeof(wanted->port_priority),
	               "the model has as many ports as an engine");
	memcpy(config.port_priority, wanted->port_priority, sizeof(config.port_priority));
	return config;
}

struct engine *model_aggregator_open(const struct engine_config *wanted, engine_emit *emit,
                                     void *context, char *error, size_t error_bytes)
{
	const struct aggregator_config config = configure(wanted, context);
	struct model_engine *model;

	if (config.ports > AGGREGATOR_PORTS_MAX) {
		snprintf(error, error_bytes,
		         "the model has %d ports at most, not %u: use --aggregator off",
		         AGGREGATOR_PORTS_MAX, config.ports);
		return NULL;
	}
	model = calloc(1, sizeof(*model));
	if (!model)
		goto out_error;
	model->aggregator = aggregator_open(&config, emit, context);
	if (!model->aggregator && errno == EINVAL) {
		snprintf(error, error_bytes,
		         "--packet-memory %u, --window %u and --jobs %u: the window must be a "
		         "power of two, no more than the memory, and the memory must be a multiple "
		         "of %u and hold at least that much for each job",
		         config.memory_packets, config.window_packets, config.jobs,
		         config.grain_packets);
		free(model);
		return NULL;
	}
	if (!model->aggregator)
		goto out_free;
	model->engine = (struct engine){
	        .operations = &operations,
	        .ports = config.ports,
	        .jobs = config.jobs,
	        .window_packets = config.window_packets,
	        .memory_packets = config.memory_packets,
	};
	return &model->engine;

out_free:
	free(model);
out_error:
	snprintf(error, error_bytes, "the model of an aggregator with %u ports: %s", config.ports,
	         strerror(errno));
	return NULL;
}
