/* SPDX-License-Identifier: Apache-2.0 */
/* Summarises the bridge's counters of a run for a reader. */
#include "summary.h"

#include <jansson.h>
#include <stdio.h>

/* A counter of `object`, or 0 if it does not exist. */
static long long count(const json_t *object, const char *name)
{
	return (long long)json_integer_value(json_object_get(object, name));
}

static void print_aggregator(const json_t *aggregator)
{
	const char *kind = json_string_value(json_object_get(aggregator, "kind"));

	if (!json_object_get(aggregator, "frames_in")) {
		fprintf(stderr, "ina-lab: aggregator %s\n", kind ? kind : "unknown");
		return;
	}
	fprintf(stderr,
	        "ina-lab: aggregator %s: %lld frames in, %lld packets joined (%.2f MiB), "
	        "%lld duplicates answered, %lld gaps, %lld iCRC drops\n",
	        kind ? kind : "unknown", count(aggregator, "frames_in"),
	        count(aggregator, "packets_joined"),
	        (double)count(aggregator, "bytes_joined") / (1 << 20),
	        count(aggregator, "duplicates_answered"), count(aggregator, "gaps"),
	        count(aggregator, "icrc_dropped"));
	if (count(aggregator, "joins_refused") || count(aggregator, "jobs_broken"))
		fprintf(stderr, "ina-lab: %lld JOINs passed, %lld jobs broken\n",
		        count(aggregator, "joins_refused"), count(aggregator, "jobs_broken"));
}

/* The sum of the counter `name` over all ports and both directions. */
static long long count_faults(const json_t *ports, const char *name)
{
	long long sum = 0;
	size_t i;
	json_t *port;

	json_array_foreach(ports, i, port)
	{
		const json_t *faults = json_object_get(port, "faults");
		sum += count(json_object_get(faults, "up"), name);
		sum += count(json_object_get(faults, "down"), name);
	}
	return sum;
}

static void print_ports(const json_t *ports, int host_count)
{
	size_t i;
	json_t *port;
	long long full = 0;

	fputs("ina-lab: MB sent/received:", stderr);
	json_array_foreach(ports, i, port)
	{
		if (i < (size_t)host_count)
			fprintf(stderr, "%s host %zu %.3f/%.3f", i ? "," : "", i,
			        (double)count(port, "rx_bytes") / 1e6,
			        (double)count(port, "tx_bytes") / 1e6);
		full += count(port, "dropped_queue_full");
	}
	fputs("\n", stderr);
	const long long lost = count_faults(ports, "lost");
	const long long duplicated = count_faults(ports, "duplicated");
	const long long reordered = count_faults(ports, "reordered");
	const long long corrupted = count_faults(ports, "corrupted");
	if (lost + duplicated + reordered + corrupted)
		fprintf(stderr,
		        "ina-lab: injected faults: %lld frames lost,  %lld duplicated, %lld "
		        "reordered, "
		        "%lld corrupted\n",
		        lost, duplicated, reordered, corrupted);
	if (full)
		fprintf(stderr, "ina-lab: %lld frames dropped at full queues of switches\n", full);
}

void lab_summary_print(const char *stats_path, int host_count, double up_s)
{
	json_error_t error;
	json_t *stats = json_load_file(stats_path, 0, &error);

	if (!stats) {
		fprintf(stderr, "ina-lab: cannot read the bridge's counters in %s: %s\n",
		        stats_path, error.text);
		return;
	}
	const json_t *capture = json_object_get(stats, "capture");
	fprintf(stderr, "ina-lab: %d %s, up after %.1f s\n", host_count,
	        host_count == 1 ? "host" : "hosts", up_s);
	print_aggregator(json_object_get(stats, "aggregator"));
	print_ports(json_object_get(stats, "ports"), host_count);
	if (capture)
		fprintf(stderr, "ina-lab: capture: %s, %lld frames\n",
		        json_string_value(json_object_get(capture, "file")),
		        count(capture, "frames"));
	json_decref(stats);
}
