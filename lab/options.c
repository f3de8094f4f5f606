/* SPDX-License-Identifier: Apache-2.0 */
/* What the user asked for: one table of options, each value checked where it is read. */
#include "options.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum option_key {
	KEY_HOSTS = 'n',
	KEY_QUIET = 'q',
	KEY_MTU = 0x100,
	KEY_RANKS,
	KEY_AGGREGATOR,
	KEY_STEER,
	KEY_JOB_TTL,
	KEY_RESET_EVERY,
	KEY_OFF_AFTER,
	KEY_STUCK_AFTER,
	KEY_PROBABILITY_FIRST,
	KEY_LOSS_UP = KEY_PROBABILITY_FIRST,
	KEY_LOSS_DOWN,
	KEY_DUPLICATE,
	KEY_REORDER,
	KEY_CORRUPT,
	KEY_PROBABILITY_LAST = KEY_CORRUPT,
	KEY_DELAY,
	KEY_DELAY_RANK,
	KEY_SEED,
	KEY_PCAP,
	KEY_PCAP_LIMIT,
	KEY_STATS,
	KEY_MEMORY,
	KEY_TIMEOUT,
	KEY_GRACE,
	KEY_VIRTUAL_TIME,
	KEY_VIRTUAL_FIRST,
	KEY_LINK_RATE = KEY_VIRTUAL_FIRST,
	KEY_LINK_DELAY,
	KEY_SWITCH_DELAY,
	KEY_RTL_CLOCK,
	KEY_QUEUE,
	KEY_ECN_THRESHOLD,
	KEY_HOST_PACKET_COST,
	KEY_HOST_BYTE_COST,
	KEY_KILL,
	KEY_CUT,
	KEY_RESET_AT,
	KEY_VIRTUAL_LAST = KEY_RESET_AT,
};

static const struct argp_option option_table[] = {
        {"hosts", KEY_HOSTS, "N", 0, "number of hosts, 1 to 8", 1},
        {"ranks-per-host", KEY_RANKS, "G[,G...]", 0,
         "commands that each host runs at once, each with a rank of its own: one number for all, "
         "or "
         "one for each (default 1)",
         1},
        {"mtu", KEY_MTU, "BYTES", 0, "RoCE path MTU: 256, 512, 1024, 2048 or 4096 (default)", 1},
        {"memory", KEY_MEMORY, "MIB", 0, "memory of each host (default 512)", 1},
        {"aggregator", KEY_AGGREGATOR, "KIND", 0,
         "rtl: the Verilog; model: its reference in C; off: a plain switch (default rtl)", 2},
        {"steer", KEY_STEER, "WHAT", 0,
         "which RoCE data frames go through the aggregator: marked (those of aggregation "
         "connections) or all",
         2},
        {"job-ttl", KEY_JOB_TTL, "SECONDS", 0,
         "the aggregator forgets jobs that are silent for this long (default 60; 0: never)", 2},
        {"reset-every", KEY_RESET_EVERY, "FRAMES", 0,
         "reset the aggregator whenever it has been given that many frames", 3},
        {"off-after", KEY_OFF_AFTER, "FRAMES", 0,
         "take the aggregator out once it has been given that many frames", 3},
        {"stuck-after", KEY_STUCK_AFTER, "FRAMES", 0,
         "let the aggregator swallow everything once it has been given that many frames", 3},
        {"loss-up", KEY_LOSS_UP, "P", 0, "probability of losing a frame before the switch", 3},
        {"loss-down", KEY_LOSS_DOWN, "P", 0, "probability of losing a frame after the switch", 3},
        {"duplicate", KEY_DUPLICATE, "P", 0, "probability of sending a frame twice", 3},
        {"reorder", KEY_REORDER, "P", 0, "probability of frames changing places", 3},
        {"corrupt", KEY_CORRUPT, "P", 0, "probability of damaging a frame", 3},
        {"delay", KEY_DELAY, "MICROSECONDS", 0, "delay of every frame", 3},
        {"seed", KEY_SEED, "S", 0, "seed of all these (default 1)", 3},
        {"delay-rank", KEY_DELAY_RANK, "R:SECONDS", 0,
         "start rank R's command that much later; may be repeated", 3},
        {"pcap", KEY_PCAP, "FILE", 0, "capture every frame, for Wireshark", 4},
        {"pcap-limit", KEY_PCAP_LIMIT, "MIB", 0, "end the capture at this size (default 256)", 4},
        {"stats", KEY_STATS, "FILE", 0, "write what the switch and the aggregator counted, as JSON",
         4},
        {"quiet", KEY_QUIET, NULL, 0, "no summary at the end", 4},
        {"timeout", KEY_TIMEOUT, "SECONDS", 0, "end the run after this long (default 600)", 5},
        {"grace", KEY_GRACE, "SECONDS", 0,
         "how long the others may go on once a rank has failed (default 30)", 5},
        {"virtual-time", KEY_VIRTUAL_TIME, NULL, 0,
         "hosts and switch have a clock of their own, and no work but that of the network takes "
         "time. With it only:",
         6},
        {"link-rate", KEY_LINK_RATE, "BITS", 0, "of each cable, a second (default 100G)", 6},
        {"link-delay", KEY_LINK_DELAY, "TIME", 0, "of each cable (default 500ns)", 6},
        {"switch-delay", KEY_SWITCH_DELAY, "TIME", 0, "of the switch (default 300ns)", 6},
        {"rtl-clock", KEY_RTL_CLOCK, "HZ", 0, "of the aggregator's RTL (default 250M)", 6},
        {"queue", KEY_QUEUE, "BYTES", 0, "of each port of the switch (default 2M; 0: no limit)", 6},
        {"ecn-threshold", KEY_ECN_THRESHOLD, "BYTES", 0,
         "from which on a port marks congestion (default 0: never)", 6},
        {"host-packet-cost", KEY_HOST_PACKET_COST, "NS", 0,
         "of a host's processor, for a packet sent or received (default 0)", 6},
        {"host-byte-cost", KEY_HOST_BYTE_COST, "NS", 0, "... and for each of its bytes", 6},
        {"kill", KEY_KILL, "RANK:TIME", 0, "a host dies so long after the start of all", 6},
        {"cut", KEY_CUT, "RANK:TIME[:TIME]", 0, "a host's cable is out from then (until then)", 6},
        {"reset-at", KEY_RESET_AT, "TIME", 0,
         "reset the aggregator so long after the start of all; may be repeated", 6},
        {0},
};

/* Reads `text` as a whole number from `least` to `most`, or ends with a line that names `what`. */
static long whole_number(const struct argp_state *state, const char *what, const char *text,
                         long least, long most)
{
	char *end;
	errno = 0;
	const long value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < least || value > most)
		argp_failure(state, LAB_EXIT_USAGE, 0,
		             "%s takes a whole number from %ld to %ld, not '%s'", what, least, most,
		             text);
	return value;
}

/* Reads `text` as a number from `least` to `most`, or ends with a line that names `what`. */
static double number(const struct argp_state *state, const char *what, const char *text,
                     double least, double most)
{
	char *end;
	errno = 0;
	const double value = strtod(text, &end);
	if (errno || end == text || *end || isnan(value) || value < least || value > most)
		argp_failure(state, LAB_EXIT_USAGE, 0, "%s takes a number from %g to %g, not '%s'",
		             what, least, most, text);
	return value;
}

static void one_of(const struct argp_state *state, const char *what, const char *text,
                   const char *const *words)
{
	char list[128] = "";
	for (; *words; words++) {
		if (!strcmp(text, *words))
			return;
		if (*list)
			strcat(list, ", ");
		strcat(list, *words);
	}
	argp_failure(state, LAB_EXIT_USAGE, 0, "%s takes one of %s, not '%s'", what, list, text);
}

/* R:SECONDS. The rank is held against the number of hosts once that is known. */
static void parse_delay_rank(struct lab_options *options, const struct argp_state *state,
                             const char *text)
{
	const char *colon = strchr(text, ':');
	char rank[8] = "";
	if (!colon || (size_t)(colon - text) >= sizeof(rank))
		argp_failure(state, LAB_EXIT_USAGE, 0, "--delay-rank takes R:SECONDS, not '%s'",
		             text);
	memcpy(rank, text, (size_t)(colon - text));
	const long index = whole_number(state, "--delay-rank's rank", rank, 0, LAB_MAX_HOSTS - 1);
	options->delay_s[index] = number(state, "--delay-rank", colon + 1, 0, 86400);
}

/* G or G,G,...; the numbers of hosts are compared once both are known. */
static void parse_ranks(struct lab_options *options, const struct argp_state *state, char *text)
{
	int count = 0;

	for (char *next, *word = text; word; word = next, count++) {
		next = strchr(word, ',');
		if (next)
			*next++ = '\0';
		if (count == LAB_MAX_HOSTS)
			argp_failure(state, LAB_EXIT_USAGE, 0,
			             "--ranks-per-host takes %d numbers at most", LAB_MAX_HOSTS);
		options->rank_counts[count] =
		        (int)whole_number(state, "--ranks-per-host", word, 1, LAB_MAX_RANKS);
	}
	options->rank_count_given = count;
}

static void spread_ranks(struct lab_options *options, const struct argp_state *state)
{
	int total = 0;

	if (!options->rank_count_given)
		options->rank_counts[0] = options->rank_count_given = 1;
	for (int h = 1; h < options->host_count && options->rank_count_given == 1; h++)
		options->rank_counts[h] = options->rank_counts[0];
	if (options->rank_count_given != 1 && options->rank_count_given != options->host_count)
		argp_failure(
		        state, LAB_EXIT_USAGE, 0,
		        "--ranks-per-host has %d numbers for %d hosts: want one, or one for each",
		        options->rank_count_given, options->host_count);
	for (int h = 0; h < options->host_count; h++)
		total += options->rank_counts[h];
	if (total > LAB_MAX_RANKS)
		argp_failure(state, LAB_EXIT_USAGE, 0,
		             "--ranks-per-host: %d ranks are more than %d", total, LAB_MAX_RANKS);
}

static const char *option_name(int key)
{
	for (const struct argp_option *option = option_table; option->name; option++)
		if (option->key == key)
			return option->name;
	return "?";
}

/* Hands an option on to the bridge, under the name that it has here. */
static void pass_to_bridge(struct lab_options *options, const struct argp_state *state, int key,
                           const char *value)
{
	char *name = options->bridge_options[options->bridge_argument_count / 2];

	if (options->bridge_argument_count == 2 * LAB_BRIDGE_OPTIONS)
		argp_failure(state, LAB_EXIT_USAGE, 0, "too many options for the bridge");
	snprintf(name, sizeof(options->bridge_options[0]), "--%s", option_name(key));
	options->bridge_arguments[options->bridge_argument_count++] = name;
	options->bridge_arguments[options->bridge_argument_count++] = value;
}

static void check_together(struct lab_options *options, const struct argp_state *state)
{
	if (!options->host_count)
		argp_failure(state, LAB_EXIT_USAGE, 0, "say how many hosts, as in -n 4");
	spread_ranks(options, state);
	if (options->is_virtual && options->host_count < 2)
		argp_failure(state, LAB_EXIT_USAGE, 0, "--virtual-time needs two hosts or more");
	if (!options->is_virtual && options->virtual_option)
		argp_failure(state, LAB_EXIT_USAGE, 0, "--%s is for --virtual-time",
		             options->virtual_option);
	for (int r = options->host_count; r < LAB_MAX_HOSTS; r++)
		if (options->delay_s[r] > 0)
			argp_failure(state, LAB_EXIT_USAGE, 0,
			             "--delay-rank names rank %d, and the last of %d hosts is %d",
			             r, options->host_count, options->host_count - 1);
	if (!options->command)
		argp_failure(state, LAB_EXIT_USAGE, 0,
		             "no command: it comes last, after --, as in: -- ibv_devinfo");
	/* env(1), which starts the command, would take such a name for a variable. */
	if (strchr(options->command[0], '='))
		argp_failure(state, LAB_EXIT_USAGE, 0,
		             "the command's name '%s' has a = in it; put env before it to set a "
		             "variable",
		             options->command[0]);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	static const char *const aggregators[] = {"rtl", "model", "off", NULL};
	static const char *const steers[] = {"marked", "all", NULL};
	static const char *const mtus[] = {"256", "512", "1024", "2048", "4096", NULL};
	struct lab_options *options = state->input;

	if (key >= KEY_PROBABILITY_FIRST && key <= KEY_PROBABILITY_LAST) {
		char what[32] = "--";
		number(state, strncat(what, option_name(key), sizeof(what) - 3), value, 0, 1);
		pass_to_bridge(options, state, key, value);
		return 0;
	}
	if (key >= KEY_VIRTUAL_FIRST && key <= KEY_VIRTUAL_LAST) {
		options->virtual_option = option_name(key);
		pass_to_bridge(options, state, key, value);
		return 0;
	}
	switch (key) {
	case KEY_VIRTUAL_TIME:
		options->is_virtual = true;
		return 0;
	case KEY_HOSTS:
		options->host_count = (int)whole_number(state, "-n", value, 1, LAB_MAX_HOSTS);
		return 0;
	case KEY_RANKS:
		parse_ranks(options, state, value);
		return 0;
	case KEY_MTU:
		one_of(state, "--mtu", value, mtus);
		options->path_mtu_bytes = atoi(value);
		return 0;
	case KEY_MEMORY:
		options->memory_mib = (int)whole_number(state, "--memory", value, 64, 65536);
		return 0;
	case KEY_AGGREGATOR:
		one_of(state, "--aggregator", value, aggregators);
		options->aggregator = value;
		return 0;
	case KEY_STEER:
		one_of(state, "--steer", value, steers);
		break;
	case KEY_JOB_TTL:
		number(state, "--job-ttl", value, 0, 1e6);
		break;
	case KEY_RESET_EVERY:
		whole_number(state, "--reset-every", value, 1, INT64_MAX);
		break;
	case KEY_OFF_AFTER:
		whole_number(state, "--off-after", value, 1, INT64_MAX);
		break;
	case KEY_STUCK_AFTER:
		whole_number(state, "--stuck-after", value, 1, INT64_MAX);
		break;
	case KEY_DELAY:
		whole_number(state, "--delay", value, 0, 10000000);
		break;
	case KEY_SEED:
		whole_number(state, "--seed", value, 0, INT64_MAX);
		options->seed = value;
		break;
	case KEY_PCAP_LIMIT:
		whole_number(state, "--pcap-limit", value, 1, 1 << 20);
		break;
	case KEY_PCAP:
		break;
	case KEY_STATS:
		options->stats_path = value;
		return 0;
	case KEY_DELAY_RANK:
		parse_delay_rank(options, state, value);
		return 0;
	case KEY_TIMEOUT:
		options->timeout_s = number(state, "--timeout", value, 0.1, 1e6);
		return 0;
	case KEY_GRACE:
		options->grace_s = number(state, "--grace", value, 0, 1e6);
		return 0;
	case KEY_QUIET:
		options->quiet = true;
		return 0;
	case ARGP_KEY_ARG: /* the first word that is no option: from here on it is the command */
		options->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		check_together(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	pass_to_bridge(options, state, key, value);
	return 0;
}

void lab_options_parse(struct lab_options *options, int argc, char **argv)
{
	static const struct argp argp = {
	        .options = option_table,
	        .parser = parse_option,
	        .args_doc = "-- COMMAND...",
	        .doc = "Boots N hosts round a switch with an aggregator and runs COMMAND on each, "
	               "with INA_RANK, INA_RANKS, INA_ROOT (rank 0's address) and INA_BIND (the "
	               "host's own) in its environment. Each line that a command prints comes out "
	               "here behind its rank. The exit code is the first that was not 0."
	               "\vExit codes of ina-lab itself: 2 bad options, 124 the run's time was up, "
	               "125 a host or the bridge died, 130 or 143 interrupted.",
	};

	*options = (struct lab_options){.aggregator = "rtl",
	                                .path_mtu_bytes = 4096,
	                                .seed = "1",
	                                .memory_mib = 512,
	                                .timeout_s = 600,
	                                .grace_s = 30};
	argp_err_exit_status = LAB_EXIT_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, options);
}
