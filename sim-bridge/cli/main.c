/* SPDX-License-Identifier: Apache-2.0 */
/* ina-bridge: opens all parts, runs the fabric, and writes the counters and the capture. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/streams.h"
#include "sim-bridge/switch/fabric.h"
#include "sim-bridge/switch/capture.h"
#include "sim-bridge/control/control.h"
#include "sim-bridge/control/history.h"
#include "sim-bridge/control/metrics.h"
#include "sim-bridge/realtime/loop.h"
#include "sim-bridge/replay/replay.h"
#include "command_line.h"
#include "engines.h"
#include "service.h"
#include "stats.h"
#include "sim-bridge/virtual/path.h"

/* Twice the length of a port's queue, so that a host that does not read cannot use up the pool. */
enum { FRAMES_A_PORT = 2 * PORT_QUEUE_FRAMES };

struct program {
	struct options options;
	struct frame_pool pool;
	struct loop loop;         /* used in real time */
	struct virtual_time time; /* used in virtual time */
	struct replay replay;     /* used in a replay */
	struct fabric fabric;
	struct history history;
	struct control control; /* used with --control */
	struct metrics metrics; /* used with --metrics */
	struct service service; /* used with --config */
	FILE *stats;            /* or NULL */
	char error[256];
};

static bool complain(const char *what)
{
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	return false;
}

static bool is_virtual(const struct program *program)
{
	return program->options.fabric.is_virtual && !program->options.is_replay;
}

/* Add it to the fabric's time to get time since the Unix epoch. */
static uint64_t epoch_ns(const struct program *program)
{
	if (program->options.is_replay)
		return program->replay.epoch_ns;
	return is_virtual(program) ? VIRTUAL_EPOCH_NS : 0;
}

/* Implements bridge_renew. */
static struct engine *renew_engine(void *context, struct bridge *bridge)
{
	struct program *program = context;
	struct engine *engine =
	        engines_make(&program->options, bridge, program->error, sizeof(program->error));

	if (engine)
		bridge->engine->operations->close(bridge->engine);
	else
		complain(program->error);
	return engine;
}

/* Prints program->error; if there are several switches, the line names the switch. */
static bool complain_of_engine(const struct program *program, const struct bridge *bridge)
{
	const struct topology *topology = program->options.fabric.topology;
	char line[TOPOLOGY_NAME_BYTES + sizeof(program->error) + 16];

	if (topology->switch_count == 1)
		return complain(program->error);
	snprintf(line, sizeof(line), "switch '%s': %s", topology->switches[bridge->number].name,
	         program->error);
	return complain(line);
}

static bool open_engines(struct program *program)
{
	struct fabric *fabric = &program->fabric;

	fabric->network.renew = renew_engine;
	fabric->network.renew_context = program;
	fabric->network.tell = history_tell;
	fabric->network.tell_context = &program->history;
	for (unsigned i = 0; i < fabric->topology->switch_count; i++) {
		struct bridge *bridge = &fabric->bridges[i];

		bridge->engine = engines_make(&program->options, bridge, program->error,
		                              sizeof(program->error));
		if (!bridge->engine && bridge->config.aggregator != BRIDGE_OFF)
			return complain_of_engine(program, bridge);
	}
	return true;
}

static void close_engines(struct fabric *fabric)
{
	for (unsigned i = 0; i < fabric->topology->switch_count; i++) {
		struct engine *engine = fabric->bridges[i].engine;

		if (engine)
			engine->operations->close(engine);
	}
}

static struct capture *open_capture(struct program *program, const char *path,
                                    enum capture_form form)
{
	struct capture *capture =
	        capture_open(path, form, program->options.pcap_limit_bytes, epoch_ns(program),
	                     program->error, sizeof(program->error));

	if (!capture)
		complain(program->error);
	return capture;
}

static bool open_captures(struct program *program)
{
	const struct options *options = &program->options;
	struct fabric *fabric = &program->fabric;

	for (unsigned i = 0; i < fabric->topology->cable_count; i++) {
		struct capture **capture = &fabric->cables[i].capture;

		if (!options->cable_paths[i])
			continue;
		*capture = open_capture(program, options->cable_paths[i], CAPTURE_ETHERNET);
		if (!*capture)
			return false;
	}
	if (options->pcap_path)
		fabric->capture = open_capture(program, options->pcap_path, CAPTURE_COOKED);
	return fabric->capture || !options->pcap_path;
}

/* Called before the fabric runs, so that a path that cannot be written is reported at the start. */
static bool open_files(struct program *program)
{
	const struct options *options = &program->options;

	if (options->stats_path) {
		program->stats =
		        stats_create(options->stats_path, program->error, sizeof(program->error));
		if (!program->stats)
			return complain(program->error);
	}
	return open_captures(program);
}

/* Prints errors; returns false after one. */
static bool become_user(struct program *program)
{
	return !program->options.user ||
	       service_drop_privileges(&program->options, program->error, sizeof(program->error)) ||
	       complain(program->error);
}

static void flush_captures(struct fabric *fabric)
{
	if (fabric->capture)
		capture_flush(fabric->capture);
	for (unsigned i = 0; i < fabric->topology->cable_count; i++)
		if (fabric->cables[i].capture)
			capture_flush(fabric->cables[i].capture);
}

/* Prints errors; returns false after one. */
static bool close_capture(struct program *program, struct capture *capture)
{
	return !capture || capture_close(capture, program->error, sizeof(program->error)) ||
	       complain(program->error);
}

static bool close_captures(struct program *program)
{
	const struct fabric *fabric = &program->fabric;
	bool good = close_capture(program, fabric->capture);

	for (unsigned i = 0; i < fabric->topology->cable_count; i++)
		good &= close_capture(program, fabric->cables[i].capture);
	return good;
}

static const struct port_counts *counts_of(const struct program *program, unsigned port)
{
	if (program->options.is_replay)
		return &program->replay.counts[port];
	return is_virtual(program) ? &program->time.guests[port].counts
	                           : &program->loop.ports[port].counts;
}

static void find_counts(const struct program *program,
                        const struct port_counts *ports[BRIDGE_PORTS_MAX])
{
	for (unsigned i = 0; i < program->options.port_count; i++)
		ports[i] = counts_of(program, i);
}

/* The counters of --stats in real time, as they are now; `context` is the program. */
static json_t *counters_now(void *context)
{
	struct program *program = context;
	const struct port_counts *ports[BRIDGE_PORTS_MAX];

	for (unsigned i = 0; i < program->loop.port_count; i++)
		port_count_lost(&program->loop.ports[i]);
	find_counts(program, ports);
	return stats_make(&program->options, &program->fabric, ports, NULL);
}

static bool open_control(struct program *program, const struct view *view)
{
	const struct options *options = &program->options;

	if (!control_open(&program->control, options->control_path, options->control_mode,
	                  program->error, sizeof(program->error)))
		return complain(program->error);
	program->control.view = *view;
	const struct loop_guest guest = {program->control.epoll_fd, control_run, &program->control};

	return loop_admit(&program->loop, &guest) == 0 || complain(strerror(errno));
}

static bool open_metrics(struct program *program, const struct view *view)
{
	if (!metrics_open(&program->metrics, program->options.metrics_at, program->error,
	                  sizeof(program->error)))
		return complain(program->error);
	program->metrics.view = *view;
	const struct loop_guest guest = {program->metrics.epoll_fd, metrics_run, &program->metrics};

	return loop_admit(&program->loop, &guest) == 0 || complain(strerror(errno));
}

/* Prints errors; returns false after one. */
static bool open_services(struct program *program)
{
	const struct options *options = &program->options;
	const struct view view = {
	        .fabric = &program->fabric,
	        .ports = program->loop.ports,
	        .history = &program->history,
	        .is_part = options->uplink != TOPOLOGY_NONE || options->level > 1,
	        .counters = counters_now,
	        .counters_context = program,
	};

	program->service.options = &program->options;
	program->service.fabric = &program->fabric;
	program->service.history = &program->history;
	program->history.has_log = options->has_log;
	for (unsigned i = 0; i < options->port_count; i++)
		program->history.has_log |= options->port_names[i] != NULL;
	return (!options->control_path || open_control(program, &view)) &&
	       (!options->metrics_at || open_metrics(program, &view)) &&
	       (!options->config_path || is_virtual(program) ||
	        service_open(&program->service, &program->loop) == 0 || complain(strerror(errno)));
}

static void close_services(struct program *program)
{
	if (program->options.control_path)
		control_close(&program->control);
	if (program->options.metrics_at)
		metrics_close(&program->metrics);
	service_close(&program->service);
}

/*
 * Called after the traffic has ended. Writes the rest of the captures before the counters, which
 * say whether the captures are complete. Prints errors; returns false after one.
 */
static bool write_files(struct program *program)
{
	const struct port_counts *ports[BRIDGE_PORTS_MAX];
	bool good = true;

	find_counts(program, ports);
	flush_captures(&program->fabric);
	if (program->stats && !stats_write(program->stats, &program->options, &program->fabric,
	                                   ports, is_virtual(program) ? &program->time : NULL)) {
		snprintf(program->error, sizeof(program->error),
		         "stats file '%s': could not write all of it: %s",
		         program->options.stats_path, strerror(errno));
		good = complain(program->error);
	}
	return close_captures(program) && good;
}

/*
 * Opens the part that drives the fabric. Returns 0, or -1 with errno; if a port is the reason,
 * program->error has one line.
 */
static int open_time(struct program *program)
{
	const struct options *options = &program->options;
	const unsigned ports = options->port_count;

	if (options->is_replay) {
		replay_open(&program->replay, options->recording, &program->pool);
		return 0;
	}
	if (is_virtual(program))
		return virtual_time_open(&program->time, &options->time, &program->pool,
		                         options->port_fds, ports);
	return loop_open(&program->loop, &program->pool, options->port_fds, options->port_names,
	                 ports, program->error, sizeof(program->error));
}

static void run_time(struct program *program)
{
	program->time.fabric = program->loop.fabric = program->replay.fabric = &program->fabric;
	program->loop.inquiry.uplink = program->options.uplink;
	program->loop.inquiry.first_number = program->options.first_number;
	if (program->options.is_replay)
		replay_run(&program->replay);
	else if (is_virtual(program))
		virtual_time_run(&program->time);
	else
		loop_run(&program->loop);
}

static void close_time(struct program *program)
{
	if (program->options.is_replay)
		return;
	if (is_virtual(program))
		virtual_time_close(&program->time);
	else
		loop_close(&program->loop);
}

/* Opens the fabric, whose frames leave to the part that drives it. Returns 0, or -1 with errno. */
static int open_fabric(struct program *program)
{
	fabric_transmit *transmit = loop_transmit;
	void *context = &program->loop;

	if (program->options.is_replay) {
		transmit = replay_transmit;
		context = &program->replay;
	} else if (is_virtual(program)) {
		transmit = virtual_transmit;
		context = &program->time;
	}
	return fabric_open(&program->fabric, &program->options.fabric, &program->pool, transmit,
	                   context);
}

/* Returns false, with one line on stderr, if not all of a replayed capture could be read. */
static bool check_recording(const struct program *program)
{
	char report[1024];

	return !program->options.is_replay ||
	       recording_is_whole(program->options.recording, report, sizeof(report)) ||
	       complain(report);
}

/* For --check FILE. */
static void print_settings(const struct options *options)
{
	if (!options->config_path)
		return;
	json_dumpf(options->effective, stdout,
	           JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
	putchar('\n');
}

/* Returns the program's exit code. */
static int run(struct program *program)
{
	int code = BRIDGE_OPTIONS_EXIT_USAGE;

	if (!open_engines(program))
		goto out_engines;
	code = EXIT_SUCCESS;
	if (program->options.only_checks) {
		print_settings(&program->options);
		goto out_engines;
	}
	code = BRIDGE_OPTIONS_EXIT_USAGE;
	if (!open_services(program))
		goto out_services;
	code = program->options.is_replay ? BRIDGE_OPTIONS_EXIT_USAGE : EXIT_FAILURE;
	if (!open_files(program) || !become_user(program)) {
		close_captures(program);
		goto out_services;
	}
	service_tell("READY=1");
	run_time(program);
	service_tell("STOPPING=1");
	bool good = write_files(program);
	good &= check_recording(program);
	if (program->time.error[0])
		good = complain(program->time.error);
	const char *stuck = fabric_error(&program->fabric);
	if (stuck)
		good = complain(stuck);
	code = good ? EXIT_SUCCESS : EXIT_FAILURE;
	if (program->loop.inquiry.error[0]) {
		complain(program->loop.inquiry.error);
		code = BRIDGE_OPTIONS_EXIT_USAGE;
	}
out_services:
	close_services(program);
out_engines:
	close_engines(&program->fabric);
	return code;
}

/* With --check and --check-hosts no port is opened, and no time passes. */
static bool open_ports(struct program *program)
{
	return program->options.only_checks || open_time(program) == 0;
}

static void close_ports(struct program *program)
{
	if (!program->options.only_checks)
		close_time(program);
	frame_pool_close(&program->pool);
}

int main(int argc, char **argv)
{
	struct program *program = calloc(1, sizeof(*program));
	int code = EXIT_FAILURE;

	ina_streams_open();
	if (program) {
		control_init(&program->control);
		metrics_init(&program->metrics);
		program->service.argc = argc;
		program->service.argv = argv;
		options_parse(&program->options, argc, argv, NULL);
	}
	if (!program ||
	    frame_pool_open(&program->pool, program->options.port_count * FRAMES_A_PORT) != 0) {
		complain(strerror(errno));
		free(program);
		return EXIT_FAILURE;
	}
	const bool has_ports = open_ports(program);
	if (!has_ports && program->error[0]) {
		complain(program->error);
		code = BRIDGE_OPTIONS_EXIT_USAGE;
	} else if (!has_ports || open_fabric(program) != 0) {
		complain(strerror(errno));
	} else {
		code = run(program);
		fabric_close(&program->fabric);
	}
	close_ports(program);
	options_close(&program->options);
	free(program);
	return code;
}
