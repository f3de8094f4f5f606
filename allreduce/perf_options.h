/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of ina-perf. */
#ifndef INA_PERF_OPTIONS_H
#define INA_PERF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collective.h"

/* For bad options, ranks that do not exist, and files that cannot be written. */
enum { PERF_EXIT_USAGE = 2 };

struct perf_options {
	size_t begin_bytes;
	size_t end_bytes;
	size_t factor;
	enum ina_type types[4];
	int type_count;
	enum ina_op op;
	enum collective collective;
	int root;
	int iterations;
	int warmups;
	bool check;
	bool compare;
	bool in_place;
	bool resnet50;
	bool doctor;
	bool fixed_point;
	bool schedules; /* flat ring, leader and parallel side by side */
	bool pick;      /* the schedule that the cost model says is the fastest */
	bool explain;
	/* Of the cost model; 0: measured. */
	double alpha_us;
	double inter_gbps;
	double intra_gbps;
	enum ina_algorithm algorithm;
	enum ina_schedule schedule;
	const char *json; /* NULL: none */
	int late_rank;    /* -1: none */
	int late_s;
	uint64_t seed;
	int timeout_s;        /* 0: libina's */
	unsigned int window;  /* 0: libina's */
	unsigned int message; /* bytes; 0: libina's */
};

/* Fills options; on bad input prints one line, and exits with PERF_EXIT_USAGE. */
void perf_options_parse(struct perf_options *options, int argc, char **argv);

#endif
