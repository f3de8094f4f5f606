/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of ina-perf: the options of nccl-tests, and its own. */
#include "perf_options.h"

#include <argp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"
#include "hostlib/tables/types.h"
#include "library_options.h"
#include "pattern.h"
#include "perf_table.h"

enum {
	KEY_COLLECTIVE = 256,
	KEY_ALGORITHM,
	KEY_SCHEDULE,
	KEY_SCHEDULES,
	KEY_EXPLAIN,
	KEY_ALPHA,
	KEY_INTER,
	KEY_INTRA,
	KEY_COMPARE,
	KEY_MODEL,
	KEY_LATE,
	KEY_JSON,
	KEY_IN_PLACE,
	KEY_SEED,
	KEY_TIMEOUT,
	KEY_WINDOW,
	KEY_MESSAGE,
	KEY_DOCTOR,
	KEY_OPTIONS,
	KEY_FIXED_POINT,
};

static const struct argp_option OPTIONS[] = {
        {0, 0, 0, 0, "The measurement, as in nccl-tests:", 1},
        {"minbytes", 'b', "SIZE", 0,
         "Smallest size in bytes; K, M, G multiply by 1024, 1024^2, ... (4)", 0},
        {"maxbytes", 'e', "SIZE", 0, "Largest size (16M)", 0},
        {"stepfactor", 'f', "FACTOR", 0, "Factor between one size and the next (2)", 0},
        {"datatype", 't', "TYPE", 0, "%s, all of these, or a type that only hosts add: %s (float)",
         0},
        {"op", 'o', "OPERATION", 0, "sum, max, min, prod or avg (sum)", 0},
        {"collective", KEY_COLLECTIVE, "NAME", 0, "%s (all_reduce)", 0},
        {"root", 'r', "RANK", 0, "Root of broadcast and reduce (0)", 0},
        {"iters", 'n', "COUNT", 0, "Timed all-reduces per size (5)", 0},
        {"warmup_iters", 'w', "COUNT", 0, "All-reduces per size before the timed ones (1)", 0},
        {"check", 'c', "0|1", 0, "Compares every element of every result (1)", 0},
        {"in-place", KEY_IN_PLACE, NULL, 0, "The result replaces the contribution", 0},
        {"model", KEY_MODEL, "NAME", 0,
         "One more row: all gradient tensors of a model, one all-reduce each: resnet50", 0},
        {"json", KEY_JSON, "FILE", 0, "Rank 0 also writes the table to this file", 0},
        {"seed", KEY_SEED, "NUMBER", 0, "Seed of the data, the same on all ranks (1)", 0},
        {"late", KEY_LATE, "RANK:SECONDS", 0, "This rank sleeps before its first all-reduce", 0},

        {0, 0, 0, 0, "The algorithm of libina:", 2},
        {"algorithm", KEY_ALGORITHM, "NAME", 0,
         "auto (in the network if an aggregator answers, else over the ring), ina or ring (auto)",
         0},
        {"compare", KEY_COMPARE, NULL, 0,
         "Runs each size through the aggregator and then over the ring", 0},
        {"fixed-point", KEY_FIXED_POINT, NULL, 0,
         "The aggregator adds float as block floating point: integers with a common exponent", 0},
        {"timeout", KEY_TIMEOUT, "SECONDS", 0, "Longest time of an all-reduce (300)", 0},
        {"window", KEY_WINDOW, "MESSAGES", 0, "Messages in flight (8)", 0},
        {"message", KEY_MESSAGE, "SIZE", 0, "Bytes of a message (16 packets)", 0},

        {0, 0, 0, 0, "Machines with several ranks:", 3},
        {"schedule", KEY_SCHEDULE, "NAME", 0,
         "auto, flat, leader, parallel, or model: for each size the one that the cost model "
         "predicts to be the fastest (auto)",
         0},
        {"schedules", KEY_SCHEDULES, NULL, 0,
         "Runs each size with the schedules flat ring, leader and parallel, and compares with the "
         "cost model's predictions",
         0},
        {"explain", KEY_EXPLAIN, NULL, 0,
         "Draws the tree of switches and the sums of each; prints the cost model's predictions and "
         "its choice",
         0},
        {"alpha", KEY_ALPHA, "MICROSECONDS", 0, "Cost model: latency of a message (measured)", 0},
        {"inter", KEY_INTER, "GBIT/S", 0, "Cost model: rate of a machine's link (measured)", 0},
        {"intra", KEY_INTRA, "GBIT/S", 0,
         "Cost model: rate between the ranks of a machine (INA_INTRA_GBPS, else measured)", 0},

        {0, 0, 0, 0, "To find out why a job does not run:", 4},
        {"doctor", KEY_DOCTOR, NULL, 0,
         "Measures nothing; checks device, GID, MTU, memory limit, neighbours and aggregator, and "
         "prints a remedy for each failure",
         0},
        {"options", KEY_OPTIONS, NULL, 0,
         "Prints libina's options with their values, and where these come from", 0},
        {0, 0, 0, 0, NULL, -1},
        {0},
};

/* Parses a number with an optional K, M or G (2^10, 2^20, 2^30). Returns 0, or -1. */
static int parse_size(const char *text, size_t *size)
{
	uint64_t number;
	const char *end = ina_scan_whole(text, 0, UINT64_MAX, &number);
	int shift = 0;

	if (!end)
		return -1;
	switch (*end) {
	case 'G':
	case 'g':
		shift += 10; /* fall through */
	case 'M':
	case 'm':
		shift += 10; /* fall through */
	case 'K':
	case 'k':
		shift += 10;
		end++;
		break;
	default:
		break;
	}
	if (*end != '\0' || number > (SIZE_MAX >> (shift + 1)))
		return -1;
	*size = (size_t)number << shift;
	return 0;
}

static size_t size_argument(struct argp_state *state, const char *option, const char *text,
                            size_t minimum, size_t maximum)
{
	size_t value = 0;

	if (parse_size(text, &value) != 0 || value < minimum || value > maximum)
		argp_failure(state, PERF_EXIT_USAGE, 0, "%s %s: must be a number from %zu to %zu",
		             option, text, minimum, maximum);
	return value;
}

#define TYPE(type, ...) INA_##type,

static const enum ina_type TYPES[] = {INA_TYPES(TYPE)};

#define TYPE_COUNT ((int)(sizeof(TYPES) / sizeof(TYPES[0])))
#define ALL_COUNT  4 /* the first ones, which aggregators combine: -t all */
#define NAMES_SIZE 200

static const char *type_name(int index)
{
	return perf_type_name(TYPES[index]);
}

static const char *collective_name(int kind)
{
	return ina_call_row((enum ina_call_kind)kind)->name;
}

/* Writes the names from `first` to `end` - 1, with commas, and with `last` before the last one. */
static const char *join(char names[NAMES_SIZE], const char *(*name)(int), int first, int end,
                        const char *last)
{
	int used = snprintf(names, NAMES_SIZE, "%s", name(first));

	for (int i = first + 1; i < end; i++)
		used += snprintf(names + used, NAMES_SIZE - (size_t)used, "%s%s",
		                 i == end - 1 ? last : ", ", name(i));
	return names;
}

static const char *collective_names(char names[NAMES_SIZE])
{
	return join(names, collective_name, INA_CALL_ALLREDUCE, INA_CALL_CLOSE, " or ");
}

/* Puts the names of types and collectives into the help of their options. */
static char *help_of(int key, const char *text, void *input)
{
	char names[2][NAMES_SIZE];
	char *help = NULL;
	int length;

	(void)input;
	if (key == 't')
		length = asprintf(&help, text, join(names[0], type_name, 0, ALL_COUNT, ", "),
		                  join(names[1], type_name, ALL_COUNT, TYPE_COUNT, ", "));
	else if (key == KEY_COLLECTIVE)
		length = asprintf(&help, text, collective_names(names[0]));
	else
		return (char *)text;
	return length < 0 ? NULL : help;
}

static void type_argument(struct argp_state *state, const char *text, struct perf_options *options)
{
	static const char *const others[] = {[INA_INT32] = "int", [INA_BFLOAT16] = "bf16"};
	const size_t known = sizeof(others) / sizeof(others[0]);
	bool all = strcmp(text, "all") == 0;
	char names[2][NAMES_SIZE];

	options->type_count = 0;
	for (int i = 0; i < TYPE_COUNT; i++) {
		const char *other = TYPES[i] < known ? others[TYPES[i]] : NULL;

		if ((all && i < ALL_COUNT) || strcmp(text, type_name(i)) == 0 ||
		    strcmp(text, ina_type_name(TYPES[i])) == 0 ||
		    (other && strcmp(text, other) == 0))
			options->types[options->type_count++] = TYPES[i];
	}
	if (options->type_count == 0)
		argp_failure(state, PERF_EXIT_USAGE, 0, "-t %s: must be %s, all (of these), %s",
		             text, join(names[0], type_name, 0, ALL_COUNT, ", "),
		             join(names[1], type_name, ALL_COUNT, TYPE_COUNT, " or "));
}

static enum ina_op op_argument(struct argp_state *state, const char *text)
{
	for (enum ina_op op = INA_SUM; op <= INA_AVG; op++) {
		if (strcmp(text, perf_op_name(op)) == 0)
			return op;
	}
	argp_failure(state, PERF_EXIT_USAGE, 0, "-o %s: must be sum, max, min, prod or avg", text);
	return INA_SUM;
}

static enum ina_algorithm algorithm_argument(struct argp_state *state, const char *text)
{
	if (strcmp(text, "ina") == 0)
		return INA_ALGORITHM_INA;
	if (strcmp(text, "ring") == 0)
		return INA_ALGORITHM_RING;
	if (strcmp(text, "auto") != 0)
		argp_failure(state, PERF_EXIT_USAGE, 0, "--algorithm %s: must be auto, ina or ring",
		             text);
	return INA_ALGORITHM_AUTO;
}

/* Parses a number greater than 0, or exits with a message. */
static double positive_argument(struct argp_state *state, const char *option, const char *text)
{
	double value = 0;

	if (!ina_parse_real(text, 0, 1e9, &value) || value == 0)
		argp_failure(state, PERF_EXIT_USAGE, 0, "%s %s: must be a number greater than 0",
		             option, text);
	return value;
}

static enum ina_schedule schedule_argument(struct argp_state *state, const char *text,
                                           struct perf_options *options)
{
	options->pick = strcmp(text, "model") == 0;
	if (options->pick)
		return INA_SCHEDULE_AUTO;
	if (strcmp(text, "flat") == 0)
		return INA_SCHEDULE_FLAT;
	if (strcmp(text, "leader") == 0)
		return INA_SCHEDULE_LEADER;
	if (strcmp(text, "parallel") == 0)
		return INA_SCHEDULE_PARALLEL;
	if (strcmp(text, "auto") != 0)
		argp_failure(state, PERF_EXIT_USAGE, 0,
		             "--schedule %s: must be auto, flat, leader, parallel or model", text);
	return INA_SCHEDULE_AUTO;
}

static void late_argument(struct argp_state *state, const char *text, struct perf_options *options)
{
	uint64_t rank;
	uint64_t seconds;
	const char *colon = ina_scan_whole(text, 0, INA_MAX_RANKS - 1, &rank);

	if (!colon || *colon != ':' || !ina_parse_whole(colon + 1, 0, 3600, &seconds)) {
		argp_failure(state, PERF_EXIT_USAGE, 0,
		             "--late %s: must be RANK:SECONDS, as in 2:20", text);
		return;
	}
	options->late_rank = (int)rank;
	options->late_s = (int)seconds;
}

static void finish(struct argp_state *state, const struct perf_options *options)
{
	if (options->end_bytes < options->begin_bytes)
		argp_failure(state, PERF_EXIT_USAGE, 0,
		             "-e is smaller than -b: there is no size to run");
	for (int t = 0; t < options->type_count; t++) {
		size_t element_bytes = ina_type_size(options->types[t]);

		if (options->begin_bytes % element_bytes != 0)
			argp_failure(state, PERF_EXIT_USAGE, 0,
			             "-b %zu: must be a multiple of the element size, %zu",
			             options->begin_bytes, element_bytes);
	}
	if (options->collective != INA_CALL_ALLREDUCE &&
	    (options->schedules || options->pick || options->resnet50))
		argp_failure(state, PERF_EXIT_USAGE, 0,
		             "--schedules, --explain, --schedule model and --model are for "
		             "all_reduce only");
	if (options->compare && (options->schedules || options->pick))
		argp_failure(
		        state, PERF_EXIT_USAGE, 0,
		        "--compare cannot be used with --schedules, --explain or --schedule model");
	if (options->compare && options->algorithm == INA_ALGORITHM_RING)
		argp_failure(state, PERF_EXIT_USAGE, 0,
		             "--compare compares with the ring: it cannot be used with --algorithm "
		             "ring");
}

/* The option that is true if the key is given, or NULL. */
static bool *flag_of(struct perf_options *options, int key)
{
	switch (key) {
	case KEY_SCHEDULES:
		return &options->schedules;
	case KEY_EXPLAIN:
		return &options->explain;
	case KEY_COMPARE:
		return &options->compare;
	case KEY_IN_PLACE:
		return &options->in_place;
	case KEY_FIXED_POINT:
		return &options->fixed_point;
	case KEY_DOCTOR:
		return &options->doctor;
	case KEY_OPTIONS:
		return &options->list_options;
	default:
		return NULL;
	}
}

/* An option of the measurement. Returns false if the key is another one. */
static bool measurement_argument(struct argp_state *state, int key, const char *text,
                                 struct perf_options *options)
{
	char names[NAMES_SIZE];

	switch (key) {
	case 'b':
		options->begin_bytes = size_argument(state, "-b", text, 2, SIZE_MAX / 4);
		return true;
	case 'e':
		options->end_bytes = size_argument(state, "-e", text, 2, SIZE_MAX / 4);
		return true;
	case 'f':
		options->factor = size_argument(state, "-f", text, 2, 1024);
		return true;
	case 't':
		type_argument(state, text, options);
		return true;
	case 'o':
		options->op = op_argument(state, text);
		return true;
	case KEY_COLLECTIVE:
		if (!collective_find(text, &options->collective))
			argp_failure(state, PERF_EXIT_USAGE, 0, "--collective %s: must be %s", text,
			             collective_names(names));
		return true;
	case 'r':
		options->root = (int)size_argument(state, "-r", text, 0, INA_MAX_RANKS - 1);
		return true;
	case 'n':
		options->iterations = (int)size_argument(state, "-n", text, 1, 1000000);
		return true;
	case 'w':
		options->warmups = (int)size_argument(state, "-w", text, 0, 1000000);
		return true;
	case 'c':
		options->check = size_argument(state, "-c", text, 0, 1) == 1;
		return true;
	case KEY_MODEL:
		if (strcmp(text, "resnet50") != 0)
			argp_failure(state, PERF_EXIT_USAGE, 0, "--model %s: must be resnet50",
			             text);
		options->resnet50 = true;
		return true;
	case KEY_SEED:
		options->seed = size_argument(state, "--seed", text, 0, SIZE_MAX / 4);
		return true;
	case KEY_LATE:
		late_argument(state, text, options);
		return true;
	default:
		return false;
	}
}

/* An option of libina or of the cost model. Returns false if the key is another one. */
static bool library_argument(struct argp_state *state, int key, const char *text,
                             struct perf_options *options)
{
	switch (key) {
	case KEY_ALGORITHM:
		options->algorithm = algorithm_argument(state, text);
		return true;
	case KEY_TIMEOUT:
		options->timeout_s = (int)size_argument(state, "--timeout", text, 1, 86400);
		return true;
	case KEY_WINDOW:
		options->window = (unsigned int)size_argument(state, "--window", text, 1, 128);
		return true;
	case KEY_MESSAGE:
		options->message =
		        (unsigned int)size_argument(state, "--message", text, 64, 1 << 20);
		return true;
	case KEY_SCHEDULE:
		options->schedule = schedule_argument(state, text, options);
		return true;
	case KEY_ALPHA:
		options->alpha_us = positive_argument(state, "--alpha", text);
		return true;
	case KEY_INTER:
		options->inter_gbps = positive_argument(state, "--inter", text);
		return true;
	case KEY_INTRA:
		options->intra_gbps = positive_argument(state, "--intra", text);
		return true;
	default:
		return false;
	}
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct perf_options *options = state->input;
	bool *flag = flag_of(options, key);

	if (flag) {
		*flag = true;
		return 0;
	}
	switch (key) {
	case KEY_JSON:
		options->json = text;
		return 0;
	case ARGP_KEY_ARG:
		argp_failure(state, PERF_EXIT_USAGE, 0, "%s: unknown argument; see --help", text);
		return 0;
	case ARGP_KEY_END:
		options->pick |= options->explain && !options->schedules;
		finish(state, options);
		return 0;
	default:
		return measurement_argument(state, key, text, options) ||
		                       library_argument(state, key, text, options)
		               ? 0
		               : ARGP_ERR_UNKNOWN;
	}
}

/* The rate that libina models inside a machine, or 0; libina itself reports an invalid value. */
static double modelled_intra_gbps(void)
{
	char text[40];
	double gbps = 0;

	if (library_options_value("INA_INTRA_GBPS", text, sizeof(text)))
		ina_parse_real(text, 0, 1e9, &gbps);
	return gbps;
}

void perf_options_parse(struct perf_options *options, int argc, char **argv)
{
	static const struct argp argp = {
	        .options = OPTIONS,
	        .parser = parse,
	        .help_filter = help_of,
	        .doc = "Measures all-reduce among hosts and checks every element of every result.\v"
	               "Start it on every host with mpirun, srun or torchrun, or with INA_RANK, "
	               "INA_RANKS "
	               "and INA_ROOT in the environment, as ina-lab sets them. INA_LOG=info prints "
	               "how the ranks are connected.\n"
	               "Exit status: 0 if every element was right and, with --algorithm ina, the "
	               "aggregator did the sums; with --doctor, if no check failed.",
	};

	*options = (struct perf_options){
	        .begin_bytes = 4,
	        .end_bytes = 16u << 20,
	        .factor = 2,
	        .types = {INA_FLOAT32},
	        .type_count = 1,
	        .intra_gbps = modelled_intra_gbps(),
	        .op = INA_SUM,
	        .collective = INA_CALL_ALLREDUCE,
	        .iterations = 5,
	        .warmups = 1,
	        .check = true,
	        .late_rank = -1,
	        .seed = 1,
	};
	argp_err_exit_status = PERF_EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, options);
}
