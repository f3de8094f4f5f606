/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of ina-perf: the options that everybody knows from nccl-tests, and ours. */
#include "perf_options.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"

enum {
	KEY_ALGORITHM = 256,
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
	KEY_FIXED_POINT,
};

static const struct argp_option OPTIONS[] = {
        {"minbytes", 'b', "SIZE", 0, "Smallest size, with K, M or G if you like (4)", 1},
        {"maxbytes", 'e', "SIZE", 0, "Largest size (16M)", 1},
        {"stepfactor", 'f', "FACTOR", 0, "From one size to the next (2)", 1},
        {"datatype", 't', "TYPE", 0, "int32, float, bfloat16, half or all (float)", 1},
        {"op", 'o', "OPERATION", 0, "sum, max or min (sum)", 1},
        {"iters", 'n', "COUNT", 0, "Timed all-reduces of a size (5)", 1},
        {"warmup_iters", 'w', "COUNT", 0, "All-reduces of a size before those (1)", 1},
        {"check", 'c', "0|1", 0, "Compare every element of every result (1)", 1},
        {"algorithm", KEY_ALGORITHM, "NAME", 0, "auto, ina or ring (auto)", 2},
        {"schedule", KEY_SCHEDULE, "NAME", 0,
         "With several ranks a machine: auto, flat, leader, parallel, or model: for each size what "
         "the cost model says is fastest (auto)",
         2},
        {"schedules", KEY_SCHEDULES, NULL, 0,
         "Each size by flat ring, leader and parallel, beside the cost model", 2},
        {"explain", KEY_EXPLAIN, NULL, 0, "Say what the cost model picks, and why", 2},
        {"alpha", KEY_ALPHA, "MICROSECONDS", 0, "Of the cost model: a message's latency (measured)",
         2},
        {"inter", KEY_INTER, "GBIT/S", 0, "... a machine's link (measured)", 2},
        {"intra", KEY_INTRA, "GBIT/S", 0,
         "... of a rank inside its machine (INA_INTRA_GBPS, else measured)", 2},
        {"compare", KEY_COMPARE, NULL, 0, "Each size by the aggregator, then by ring", 2},
        {"model", KEY_MODEL, "NAME", 0, "resnet50: all its gradient tensors, one row", 2},
        {"in-place", KEY_IN_PLACE, NULL, 0, "The result replaces the contribution", 2},
        {"late", KEY_LATE, "RANK:SECONDS", 0, "That rank sleeps before its first all-reduce", 2},
        {"seed", KEY_SEED, "NUMBER", 0, "Of the data (1); the same on all ranks", 2},
        {"fixed-point", KEY_FIXED_POINT, NULL, 0, "float sums by the aggregator as integers", 2},
        {"json", KEY_JSON, "FILE", 0, "Rank 0 writes the table there as well", 2},
        {"timeout", KEY_TIMEOUT, "SECONDS", 0, "Of an all-reduce (300)", 2},
        {"window", KEY_WINDOW, "MESSAGES", 0, "Messages under way (8)", 2},
        {"message", KEY_MESSAGE, "SIZE", 0, "Bytes of a message (16 packets)", 2},
        {"doctor", KEY_DOCTOR, NULL, 0, "Measure nothing: say what all-reduce lacks here", 3},
        {0},
};

/* Parses a number with an optional K, M or G (2^10, 2^20, 2^30). Returns 0, or -1. */
static int parse_size(const char *text, size_t *size)
{
	char *end;
	unsigned long long number;
	int shift = 0;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno != 0 || end == text || text[0] == '-')
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
		argp_failure(state, 1, 0, "%s %s: want a number from %zu to %zu", option, text,
		             minimum, maximum);
	return value;
}

static void type_argument(struct argp_state *state, const char *text, struct perf_options *options)
{
	static const struct {
		const char *name;
		const char *other;
		enum ina_type type;
	} types[] = {
	        {"int32", "int", INA_INT32},
	        {"float", "float32", INA_FLOAT32},
	        {"bfloat16", "bf16", INA_BFLOAT16},
	        {"half", "float16", INA_FLOAT16},
	};

	options->type_count = 0;
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		if (strcmp(text, types[t].name) == 0 || strcmp(text, types[t].other) == 0 ||
		    strcmp(text, "all") == 0)
			options->types[options->type_count++] = types[t].type;
	}
	if (options->type_count == 0)
		argp_failure(state, 1, 0, "-t %s: want int32, float, bfloat16, half or all", text);
}

static enum ina_op op_argument(struct argp_state *state, const char *text)
{
	if (strcmp(text, "max") == 0)
		return INA_MAX;
	if (strcmp(text, "min") == 0)
		return INA_MIN;
	if (strcmp(text, "sum") != 0)
		argp_failure(state, 1, 0, "-o %s: want sum, max or min", text);
	return INA_SUM;
}

static enum ina_algorithm algorithm_argument(struct argp_state *state, const char *text)
{
	if (strcmp(text, "ina") == 0)
		return INA_ALGORITHM_INA;
	if (strcmp(text, "ring") == 0)
		return INA_ALGORITHM_RING;
	if (strcmp(text, "auto") != 0)
		argp_failure(state, 1, 0, "--algorithm %s: want auto, ina or ring", text);
	return INA_ALGORITHM_AUTO;
}

/* A number greater than 0. */
static double positive_argument(struct argp_state *state, const char *option, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !(value > 0) || value > 1e9)
		argp_failure(state, 1, 0, "%s %s: want a number greater than 0", option, text);
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
		argp_failure(state, 1, 0,
		             "--schedule %s: want auto, flat, leader, parallel or model", text);
	return INA_SCHEDULE_AUTO;
}

static void late_argument(struct argp_state *state, const char *text, struct perf_options *options)
{
	char *colon;
	char *end = NULL;
	long rank = strtol(text, &colon, 10);
	long seconds = *colon == ':' ? strtol(colon + 1, &end, 10) : -1;

	if (colon == text || !end || *end != '\0' || end == colon + 1 || rank < 0 ||
	    rank >= INA_MAX_RANKS || seconds < 0 || seconds > 3600)
		argp_failure(state, 1, 0, "--late %s: want RANK:SECONDS, as in 2:20", text);
	options->late_rank = (int)rank;
	options->late_s = (int)seconds;
}

static void finish(struct argp_state *state, const struct perf_options *options)
{
	if (options->end_bytes < options->begin_bytes)
		argp_failure(state, 1, 0, "-e is smaller than -b: there is no size to run");
	for (int t = 0; t < options->type_count; t++) {
		size_t element_bytes = pattern_bytes(options->types[t]);

		if (options->begin_bytes % element_bytes != 0)
			argp_failure(state, 1, 0,
			             "-b %zu: want a multiple of the element size, %zu",
			             options->begin_bytes, element_bytes);
	}
	if (options->compare && (options->schedules || options->pick))
		argp_failure(
		        state, 1, 0,
		        "--compare does not go with --schedules, --explain or --schedule model");
	if (options->compare && options->algorithm == INA_ALGORITHM_RING)
		argp_failure(state, 1, 0,
		             "--compare compares with the ring: it does not go with "
		             "--algorithm ring");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct perf_options *options = state->input;

	switch (key) {
	case 'b':
		options->begin_bytes = size_argument(state, "-b", text, 2, SIZE_MAX / 4);
		return 0;
	case 'e':
		options->end_bytes = size_argument(state, "-e", text, 2, SIZE_MAX / 4);
		return 0;
	case 'f':
		options->factor = size_argument(state, "-f", text, 2, 1024);
		return 0;
	case 't':
		type_argument(state, text, options);
		return 0;
	case 'o':
		options->op = op_argument(state, text);
		return 0;
	case 'n':
		options->iterations = (int)size_argument(state, "-n", text, 1, 1000000);
		return 0;
	case 'w':
		options->warmups = (int)size_argument(state, "-w", text, 0, 1000000);
		return 0;
	case 'c':
		options->check = size_argument(state, "-c", text, 0, 1) == 1;
		return 0;
	case KEY_ALGORITHM:
		options->algorithm = algorithm_argument(state, text);
		return 0;
	case KEY_SCHEDULE:
		options->schedule = schedule_argument(state, text, options);
		return 0;
	case KEY_SCHEDULES:
		options->schedules = true;
		return 0;
	case KEY_EXPLAIN:
		options->explain = true;
		return 0;
	case KEY_ALPHA:
		options->alpha_us = positive_argument(state, "--alpha", text);
		return 0;
	case KEY_INTER:
		options->inter_gbps = positive_argument(state, "--inter", text);
		return 0;
	case KEY_INTRA:
		options->intra_gbps = positive_argument(state, "--intra", text);
		return 0;
	case KEY_COMPARE:
		options->compare = true;
		return 0;
	case KEY_MODEL:
		if (strcmp(text, "resnet50") != 0)
			argp_failure(state, 1, 0, "--model %s: want resnet50", text);
		options->resnet50 = true;
		return 0;
	case KEY_LATE:
		late_argument(state, text, options);
		return 0;
	case KEY_JSON:
		options->json = text;
		return 0;
	case KEY_IN_PLACE:
		options->in_place = true;
		return 0;
	case KEY_SEED:
		options->seed = size_argument(state, "--seed", text, 0, SIZE_MAX / 4);
		return 0;
	case KEY_TIMEOUT:
		options->timeout_s = (int)size_argument(state, "--timeout", text, 1, 86400);
		return 0;
	case KEY_WINDOW:
		options->window = (unsigned int)size_argument(state, "--window", text, 1, 128);
		return 0;
	case KEY_MESSAGE:
		options->message =
		        (unsigned int)size_argument(state, "--message", text, 64, 1 << 20);
		return 0;
	case KEY_FIXED_POINT:
		options->fixed_point = true;
		return 0;
	case KEY_DOCTOR:
		options->doctor = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_failure(state, 1, 0, "%s: what is this? See --help", text);
		return 0;
	case ARGP_KEY_END:
		options->pick |= options->explain && !options->schedules;
		finish(state, options);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What libina models, if it does; libina itself complains of what is no number. */
static double modelled_intra_gbps(void)
{
	const char *text = getenv("INA_INTRA_GBPS");

	return text ? strtod(text, NULL) : 0;
}

void perf_options_parse(struct perf_options *options, int argc, char **argv)
{
	static const struct argp argp = {
	        .options = OPTIONS,
	        .parser = parse,
	        .doc = "Measures all-reduce among hosts and checks every element of every result.\v"
	               "Start it on every host by mpirun, srun or torchrun, or with INA_RANK, "
	               "INA_RANKS "
	               "and INA_ROOT in the environment (ina-lab sets them). INA_LOG=info: say how "
	               "libina is connected.\n"
	               "Exit status: 0 if every element was right, and, with --algorithm ina, the "
	               "aggregator summed; with --doctor, if nothing was amiss.",
	};

	*options = (struct perf_options){
	        .begin_bytes = 4,
	        .end_bytes = 16u << 20,
	        .factor = 2,
	        .types = {INA_FLOAT32},
	        .type_count = 1,
	        .intra_gbps = modelled_intra_gbps(),
	        .op = INA_SUM,
	        .iterations = 5,
	        .warmups = 1,
	        .check = true,
	        .late_rank = -1,
	        .seed = 1,
	};
	argp_err_exit_status = 1;
	argp_parse(&argp, argc, argv, 0, NULL, options);
}
