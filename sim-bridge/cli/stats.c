/* SPDX-License-Identifier: Apache-2.0 */
/* One function builds each JSON object of the file. */
#include "stats.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* Adds one counter of an X list to `object`. */
#define X(name, meaning) json_object_set_new(object, #name, number(counts->name));

static json_t *aggregator_object(const struct engine *engine)
{
	if (!engine)
		return json_pack("{ss}", "kind", "off");

	struct ina_counters all, *counts = &all;
	json_t *object = json_pack("{ss si si si si}", "kind", engine->operations->kind, "ports",
	                           (int)engine->ports, "jobs", (int)engine->jobs, "window_packets",
	                           (int)engine->window_packets, "memory_packets",
	                           (int)engine->memory_packets);

	engine->operations->read_counters(engine, counts);
	INA_COUNTERS(X)
	if (engine->error[0])
		json_object_set_new(object, "error", json_string(engine->error));
	return object;
}

/*
 * The object for several switches: each counter is a sum, and the kind is "mixed" if the switches
 * have aggregators of several kinds.
 */
static json_t *aggregators_object(const struct fabric *fabric)
{
	const unsigned count = fabric->topology->switch_count;
	struct ina_counters all = {0}, *counts = &all;
	const char *kind = NULL;

	if (count == 1)
		return aggregator_object(fabric->bridges[0].engine);
	for (unsigned i = 0; i < count; i++) {
		const struct engine *engine = fabric->bridges[i].engine;
		const char *this_kind = engine ? engine->operations->kind : "off";
		struct ina_counters of;

		kind = !kind || !strcmp(kind, this_kind) ? this_kind : "mixed";
		if (!engine)
			continue;
		engine->operations->read_counters(engine, &of);
		for (unsigned n = 0; n < INA_COUNTER_COUNT; n++)
			((uint64_t *)&all)[n] += ((const uint64_t *)&of)[n];
	}
	json_t *object = json_pack("{ss}", "kind", kind);

	if (strcmp(kind, "off") != 0) {
		INA_COUNTERS(X)
	}
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

static json_t *direction_object(const struct fabric_cable *cable, enum link_side side)
{
	const struct trunk_counts *counts = &cable->counts[side];
	json_t *object = json_object();

	TRUNK_COUNTS(X)
	json_object_set_new(object, "longest_queue_bytes", number(cable->wires[side].most_bytes));
	json_object_set_new(object, "faults", faults_object(&cable->links[side].counts));
	return object;
}
#undef X

static json_t *cables_object(const struct fabric *fabric)
{
	json_t *object = json_object();

	for (unsigned i = fabric->topology->host_count; i < fabric->topology->cable_count; i++)
		json_object_set_new(object, fabric->topology->cables[i].name,
		                    json_pack("{so so}", "up",
		                              direction_object(&fabric->cables[i], LINK_UP), "down",
		                              direction_object(&fabric->cables[i], LINK_DOWN)));
	return object;
}

static void add_rtl_clocks(json_t *object, uint64_t clocks)
{
	if (clocks)
		json_object_set_new(object, "rtl_clocks", number(clocks));
}

static uint64_t clocks_of(const struct bridge *bridge)
{
	return bridge->engine ? bridge->engine->operations->clocks(bridge->engine) : 0;
}

static json_t *switches_object(const struct fabric *fabric)
{
	json_t *objects = json_object();

	for (unsigned i = 0; i < fabric->topology->switch_count; i++) {
		const struct bridge *bridge = &fabric->bridges[i];
		json_t *object = json_object();

		json_object_set_new(object, "aggregator", aggregator_object(bridge->engine));
#define X(name, meaning) json_object_set_new(object, #name, number(bridge->name));
		BRIDGE_COUNTS(X)
#undef X
		add_rtl_clocks(object, clocks_of(bridge));
		json_object_set_new(objects, fabric->topology->switches[i].name, object);
	}
	return objects;
}

static json_t *capture_object(const struct capture *capture)
{
	struct capture_totals totals = capture_totals(capture);

	return json_pack("{ss so so sb}", "file", totals.path, "frames", number(totals.frames),
	                 "bytes", number(totals.bytes), "complete", totals.complete);
}

/* The captures of single cables, by the cables' names; or NULL if no cable has one. */
static json_t *cable_captures_object(const struct fabric *fabric)
{
	json_t *objects = NULL;

	for (unsigned i = 0; i < fabric->topology->cable_count; i++) {
		if (!fabric->cables[i].capture)
			continue;
		objects = objects ? objects : json_object();
		json_object_set_new(objects, fabric->topology->cables[i].name,
		                    capture_object(fabric->cables[i].capture));
	}
	return objects;
}

static json_t *virtual_object(const struct options *options, const struct virtual_time *time)
{
	const uint64_t start_ns = time->start_ns == GUEST_NEVER ? time->end_ns : time->start_ns;
	json_t *object = json_object();
	json_t *queues = json_array();

	for (unsigned i = 0; i < time->count; i++) {
		const struct cable *wire = &time->fabric->cables[i].wires[LINK_DOWN];

		json_array_append_new(queues, number(wire->most_bytes));
	}
	json_object_set_new(object, "link_bits_per_second",
	                    number(options->every_cable.bits_per_second));
	json_object_set_new(object, "link_delay_ns", number(options->every_cable.delay_ns));
	json_object_set_new(object, "rtl_clock_hz", number(options->every_switch.rtl_clock_hz));
	json_object_set_new(object, "boot_ns", number(start_ns));
	json_object_set_new(object, "run_ns", number(time->end_ns - start_ns));
	json_object_set_new(object, "host_runs", number(time->runs));
	json_object_set_new(object, "frames", number(time->frames));
	json_object_set_new(object, "marked_frames", number(time->marked_frames));
	json_object_set_new(object, "longest_queue_bytes", queues);
	return object;
}

json_t *stats_make(const struct options *options, const struct fabric *fabric,
                   const struct port_counts *const ports[BRIDGE_PORTS_MAX],
                   const struct virtual_time *time)
{
	const unsigned switch_count = fabric->topology->switch_count;
	json_t *object = json_object();
	json_t *port_objects = json_array();
	uint64_t clocks = 0;

	for (unsigned i = 0; i < fabric->topology->host_count; i++)
		json_array_append_new(port_objects, port_object(ports[i], fabric->cables[i].links));
	json_object_set_new(object, "aggregator", aggregators_object(fabric));
	json_object_set_new(object, "ports", port_objects);
#define X(name, meaning)                                                                           \
	uint64_t name = 0;                                                                         \
	for (unsigned i = 0; i < switch_count; i++)                                                \
		name += fabric->bridges[i].name;                                                   \
	json_object_set_new(object, #name, number(name));
	BRIDGE_COUNTS(X)
#undef X
	json_object_set_new(object, "seed", number(options->fabric.seed));
	for (unsigned i = 0; i < switch_count; i++)
		clocks += clocks_of(&fabric->bridges[i]);
	add_rtl_clocks(object, clocks);
	if (time)
		json_object_set_new(object, "virtual_time", virtual_object(options, time));
	if (fabric->capture)
		json_object_set_new(object, "capture", capture_object(fabric->capture));
	json_t *of_cables = cable_captures_object(fabric);
	if (of_cables)
		json_object_set_new(object, "cable_captures", of_cables);
	if (switch_count > 1) {
		json_object_set_new(object, "switches", switches_object(fabric));
		json_object_set_new(object, "cables", cables_object(fabric));
	}
	return object;
}

FILE *stats_create(const char *path, char *error, size_t error_bytes)
{
	FILE *file = fopen(path, "w");

	if (!file)
		snprintf(error, error_bytes, "stats file '%s': %s", path, strerror(errno));
	return file;
}

bool stats_write(FILE *file, const struct options *options, const struct fabric *fabric,
                 const struct port_counts *const ports[BRIDGE_PORTS_MAX],
                 const struct virtual_time *time)
{
	json_t *object = stats_make(options, fabric, ports, time);
	bool written = json_dumpf(object, file, JSON_INDENT(2)) == 0 && fputc('\n', file) != EOF;

	json_decref(object);
	return fclose(file) == 0 && written;
}
