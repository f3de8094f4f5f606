/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of ina-perf. */
#ifndef INA_PERF_OPTIONS_H
#define INA_PERF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collective.h"

/* The exit code for invalid options, ranks that do not exist, and files that cannot be written. */
enum { PERF_EXIT_USAGE = 2 };

struct perf_options {
	size_t begin_bytes;
	size_t end_bytes;
	size_t factor;
	enum ina_type types[4];
	int type_count;
	enum ina_op op;
	enum ina_call_kind collective;
	int root;
	int iterations;
	int warmups;
	bool check;
	bool compare;
	bool in_place;
	bool resnet50;
	bool doctor;
	bool list_options;
	bool fixed_point;
	bool schedules; /* compare flat ring, leader and parallel */
	bool pick;      /* run only the schedule that is fastest by the cost model */
	bool explain;
	/* Parameters of the cost model; 0: measure it. */
	double alpha_us;
	double inter_gbps;
	double intra_gbps;
	enum ina_algorithm algorithm;
	enum ina_schedule schedule;
	const char *json; /* file for the results, or NULL */
	int late_rank;    /* or -1 */
	int late_s;
	uint64_t seed;
	int timeout_s;        /* 0: libina's default */
	unsigned int window;  /* 0: libina's default */
	unsigned int message; /* bytes; 0: libina's default */
};

/* Fills `options`. On an invalid argument, prints one line and exits with PERF_EXIT_USAGE. */
void perf_options_parse(struct perf_options *options, int argc, char **argv);

#endif
