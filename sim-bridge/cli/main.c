/* SPDX-License-Identifier: Apache-2.0 */
/* ina-bridge: puts the parts together, runs, and writes down what was counted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim-bridge/switch/bridge.h"
#include "sim-bridge/switch/capture.h"
#include "sim-bridge/engine/engine.h"
#include "sim-bridge/realtime/loop.h"
#include "options.h"
#include "stats.h"
#include "sim-bridge/virtual/path.h"

/* More than all ports' queues can hold, so that a host that does not read starves no other. */
enum { FRAMES_A_PORT = 2 * PORT_QUEUE_FRAMES };

struct program {
	struct options options;
	struct frame_pool pool;
	struct loop loop;         /* in real time */
	struct virtual_time time; /* in virtual time */
	struct bridge bridge;
	FILE *stats; /* or NULL */
	char error[256];
};

static bool complain(const char *what)
{
	fprintf(stderr, "ina-bridge: %s\n", what);
	return false;
}

static bool is_virtual(const struct program *program)
{
	return program->options.bridge.is_virtual;
}

/* NULL: a plain switch, or program->error says what failed. */
static struct engine *make_engine(struct program *program)
{
	struct bridge *bridge = &program->bridge;
	const struct virtual_config *config = &program->options.time;
	unsigned ports = program->options.bridge.ports;
	const bool has_quiet_time = program->options.bridge.quiet_ns > 0;

	if (program->options.aggregator == OPTIONS_MODEL)
		return model_aggregator_open(ports, has_quiet_time, bridge_aggregated, bridge,
		                             program->error, sizeof(program->error));
	if (program->options.aggregator == OPTIONS_RTL)
		return rtl_aggregator_open(
		        ports, has_quiet_time, is_virtual(program) ? config->rtl_clock_hz : 0,
		        bridge_aggregated, bridge, program->error, sizeof(program->error));
	return NULL;
}

/* A bridge_renew. */
static struct engine *renew_engine(void *context)
{
	struct program *program = context;
	struct engine *engine = make_engine(program);

	if (engine)
		program->bridge.engine->operations->close(program->bridge.engine);
	else
		complain(program->error);
	return engine;
}

static bool open_engine(struct program *program)
{
	struct bridge *bridge = &program->bridge;

	bridge->renew = renew_engine;
	bridge->renew_context = program;
	bridge->engine = make_engine(program);
	return bridge->engine || program->options.aggregator == OPTIONS_OFF ||
	       complain(program->error);
}

/* Before anything runs, so that a path that cannot be written is found at once. */
static bool open_files(struct program *program)
{
	const struct options *options = &program->options;

	if (options->stats_path) {
		program->stats =
		        stats_create(options->stats_path, program->error, sizeof(program->error));
		if (!program->stats)
			return complain(program->error);
	}
	if (!options->pcap_path)
		return true;
	program->bridge.capture = capture_open(options->pcap_path, options->pcap_limit_bytes,
	                                       is_virtual(program) ? VIRTUAL_EPOCH_NS : 0,
	                                       program->error, sizeof(program->error));
	return program->bridge.capture || complain(program->error);
}

/* After the end of the traffic: the rest of the capture, then the counts, which say how it went. */
static bool write_files(struct program *program)
{
	struct capture *capture = program->bridge.capture;
	const struct port_counts *ports[BRIDGE_PORTS_MAX];
	bool good = true;

	for (unsigned i = 0; i < program->options.bridge.ports; i++)
		ports[i] = is_virtual(program) ? &program->time.guests[i].counts
		                               : &program->loop.ports[i].counts;
	if (capture)
		capture_flush(capture);
	if (program->stats && !stats_write(program->stats, &program->bridge, ports,
	                                   is_virtual(program) ? &program->time : NULL)) {
		snprintf(program->error, sizeof(program->error),
		         "stats file '%s': not written in full: %s", program->options.stats_path,
		         strerror(errno));
		good = complain(program->error);
	}
	if (capture && !capture_close(capture, program->error, sizeof(program->error)))
		good = complain(program->error);
	return good;
}

/* What drives the bridge. 0, or -1 with errno. */
static int open_time(struct program *program)
{
	const struct options *options = &program->options;
	const unsigned ports = options->bridge.ports;

	if (is_virtual(program))
		return virtual_time_open(&program->time, &options->time, &program->pool,
		                         options->port_fds, ports);
	return loop_open(&program->loop, &program->pool, options->port_fds, ports);
}

static void run_time(struct program *program)
{
	program->time.bridge = program->loop.bridge = &program->bridge;
	if (is_virtual(program))
		virtual_time_run(&program->time);
	else
		loop_run(&program->loop);
}

static void close_time(struct program *program)
{
	if (is_virtual(program))
		virtual_time_close(&program->time);
	else
		loop_close(&program->loop);
}

static bool run(struct program *program)
{
	struct bridge *bridge = &program->bridge;
	bool good = false;

	if (!open_engine(program))
		return false;
	if (!open_files(program))
		goto out_engine;
	run_time(program);
	good = write_files(program);
	if (program->time.error[0])
		good = complain(program->time.error);
	if (bridge->engine && bridge->engine->error[0])
		good = complain(bridge->engine->error);
out_engine:
	if (bridge->engine)
		bridge->engine->operations->close(bridge->engine);
	return good;
}

int main(int argc, char **argv)
{
	struct program *program = calloc(1, sizeof(*program));
	bool good = false;

	if (!program)
		goto out_error;
	options_parse(&program->options, argc, argv);
	unsigned ports = program->options.bridge.ports;
	if (frame_pool_open(&program->pool, ports * FRAMES_A_PORT) != 0)
		goto out_error;
	if (open_time(program) != 0)
		goto out_time;
	if (is_virtual(program) ? bridge_open(&program->bridge, &program->options.bridge,
	                                      &program->pool, virtual_transmit, &program->time) != 0
	                        : bridge_open(&program->bridge, &program->options.bridge,
	                                      &program->pool, loop_transmit, &program->loop) != 0)
		goto out_time;
	good = run(program);
	bridge_close(&program->bridge);
	close_time(program);
	frame_pool_close(&program->pool);
	free(program);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;

out_time:
	complain(strerror(errno));
	close_time(program);
	frame_pool_close(&program->pool);
	free(program);
	return EXIT_FAILURE;
out_error:
	complain(strerror(errno));
	free(program);
	return EXIT_FAILURE;
}
