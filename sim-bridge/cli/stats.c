/* SPDX-License-Identifier: Apache-2.0 */
/* One function an object of the file. */
#include "stats.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* A row of a list of counters. */
#define X(name, meaning) json_object_set_new(object, #name, number(counts->name));

static json_t *aggregator_object(const struct engine *engine)
{
	if (!engine)
		return json_pack("{ss}", "kind", "off");

	struct ina_counters all, *counts = &all;
	json_t *object = json_pack("{ss si si si}", "kind", engine->operations->kind, "ports",
	                           (int)engine->ports, "jobs", (int)engine->jobs, "window_packets",
	                           (int)engine->window_packets);

	engine->operations->read_counters(engine, counts);
	INA_COUNTERS(X)
	if (engine->error[0])
		json_object_set_new(object, "error", json_string(engine->error));
	return object;
}

static json_t *faults_object(const struct link_counts *counts)
{
	json_t *object = json_object();

	LINK_COUNTS(X)
	return object;
}

static json_t *port_object(const struct port_counts *counts, const struct link *links)
{
	json_t *object = json_object();

	PORT_COUNTS(X)
	json_object_set_new(object, "faults",
	                    json_pack("{so so}", "up", faults_object(&links[LINK_UP].counts),
	                              "down", faults_object(&links[LINK_DOWN].counts)));
	return object;
}
#undef X

static json_t *capture_object(const struct capture *capture)
{
	struct capture_totals totals = capture_totals(capture);

	return json_pack("{ss so so sb}", "file", totals.path, "frames", number(totals.frames),
	                 "bytes", number(totals.bytes), "complete", totals.complete);
}

static json_t *virtual_object(const struct virtual_time *time)
{
	const uint64_t start_ns = time->start_ns == GUEST_NEVER ? time->end_ns : time->start_ns;
	json_t *object = json_object();
	json_t *queues = json_array();

	for (unsigned i = 0; i < time->count; i++)
		json_array_append_new(queues, number(time->cables[i][LINK_DOWN].most_bytes));
	json_object_set_new(object, "link_bits_per_second",
	                    number(time->config->link_bits_per_second));
	json_object_set_new(object, "link_delay_ns", number(time->config->link_delay_ns));
	json_object_set_new(object, "rtl_clock_hz", number(time->config->rtl_clock_hz));
	json_object_set_new(object, "boot_ns", number(start_ns));
	json_object_set_new(object, "run_ns", number(time->end_ns - start_ns));
	json_object_set_new(object, "host_runs", number(time->runs));
	json_object_set_new(object, "frames", number(time->frames));
	json_object_set_new(object, "marked_frames", number(time->marked_frames));
	json_object_set_new(object, "longest_queue_bytes", queues);
	return object;
}

static json_t *stats_object(const struct bridge *bridge,
                            const struct port_counts *const ports[BRIDGE_PORTS_MAX],
                            const struct virtual_time *time)
{
	json_t *object = json_object();
	json_t *port_objects = json_array();

	for (unsigned i = 0; i < bridge->config.ports; i++)
		json_array_append_new(port_objects, port_object(ports[i], bridge->links[i]));
	json_object_set_new(object, "aggregator", aggregator_object(bridge->engine));
	json_object_set_new(object, "ports", port_objects);
	json_object_set_new(object, "steered_frames", number(bridge->steered_frames));
	json_object_set_new(object, "engine_resets", number(bridge->engine_resets));
	json_object_set_new(object, "flooded_frames", number(bridge->flooded_frames));
	json_object_set_new(object, "filtered_frames", number(bridge->filtered_frames));
	json_object_set_new(object, "no_memory_frames", number(bridge->no_memory_frames));
	json_object_set_new(object, "seed", number(bridge->config.seed));
	if (bridge->engine && bridge->engine->operations->clocks(bridge->engine))
		json_object_set_new(object, "rtl_clocks",
		                    number(bridge->engine->operations->clocks(bridge->engine)));
	if (time)
		json_object_set_new(object, "virtual_time", virtual_object(time));
	if (bridge->capture)
		json_object_set_new(object, "capture", capture_object(bridge->capture));
	return object;
}

FILE *stats_create(const char *path, char *error, size_t error_bytes)
{
	FILE *file = fopen(path, "w");

	if (!file)
		snprintf(error, error_bytes, "stats file '%s': %s", path, strerror(errno));
	return file;
}

bool stats_write(FILE *file, const struct bridge *bridge,
                 const struct port_counts *const ports[BRIDGE_PORTS_MAX],
                 const struct virtual_time *time)
{
	json_t *object = stats_object(bridge, ports, time);
	bool written = json_dumpf(object, file, JSON_INDENT(2)) == 0 && fputc('\n', file) != EOF;

	json_decref(object);
	return fclose(file) == 0 && written;
}
