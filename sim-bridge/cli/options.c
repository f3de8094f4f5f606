/* SPDX-License-Identifier: Apache-2.0 */
/* One function a kind of value; argp does the rest. */
#include "options.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim-bridge/realtime/port.h"

enum {
	KEY_PORT = 0x100,
	KEY_AGGREGATOR,
	KEY_STEER,
	KEY_JOB_TTL,
	KEY_RESET_EVERY,
	KEY_OFF_AFTER,
	KEY_STUCK_AFTER,
	KEY_LOSS_UP,
	KEY_LOSS_DOWN,
	KEY_DUPLICATE,
	KEY_REORDER,
	KEY_CORRUPT,
	KEY_DELAY,
	KEY_SEED,
	KEY_PCAP,
	KEY_PCAP_LIMIT,
	KEY_STATS,
};

enum {
	PCAP_LIMIT_DEFAULT_MIB = 256,
	PCAP_LIMIT_MAX_MIB = 1 << 20,
	DELAY_MAX_US = 10000000,
	JOB_TTL_DEFAULT_S = 60,
	JOB_TTL_MAX_S = 1000000,
	EXIT_USAGE = 2,
};

static const struct argp_option argp_options[] = {
        {"port", KEY_PORT, "fd=N", 0,
         "A port: an open Unix socket (SEQPACKET or DGRAM), one frame a datagram. Once for each "
         "host; the order gives the ports their numbers",
         1},
        {"aggregator", KEY_AGGREGATOR, "rtl|model|off", 0,
         "What adds: the Verilated RTL (default), the C model, or nothing", 2},
        {"steer", KEY_STEER, "marked|all", 0,
         "Which RoCE SENDs go through it: those with the DSCP of aggregation traffic (default), or "
         "all",
         2},
        {"job-ttl", KEY_JOB_TTL, "SECONDS", 0,
         "The aggregator forgets a job of which nothing has come for this long, and at the latest "
         "for twice as long; longer than the hosts' ACK timeout (default 60; 0: never)",
         2},
        {"reset-every", KEY_RESET_EVERY, "FRAMES", 0,
         "The aggregator is reset, and knows nothing any more, whenever it has been given that "
         "many frames",
         3},
        {"off-after", KEY_OFF_AFTER, "FRAMES", 0,
         "The aggregator is taken out once it has been given that many frames", 3},
        {"stuck-after", KEY_STUCK_AFTER, "FRAMES", 0,
         "The aggregator swallows everything once it has been given that many frames", 3},
        {"loss-up", KEY_LOSS_UP, "P", 0, "Probability that a frame is lost before the switch", 3},
        {"loss-down", KEY_LOSS_DOWN, "P", 0, "... and behind it", 3},
        {"duplicate", KEY_DUPLICATE, "P", 0, "... that it is duplicated, on each side", 3},
        {"reorder", KEY_REORDER, "P", 0,
         "... that it is held back until one or two others have passed or 1 ms is over, on each "
         "side",
         3},
        {"corrupt", KEY_CORRUPT, "P", 0,
         "... that one bit behind the Ethernet header is flipped, on each side", 3},
        {"delay", KEY_DELAY, "MICROSECONDS", 0, "Added to the way of every frame, on each side", 3},
        {"seed", KEY_SEED, "S", 0, "Of the faults (default 1)", 3},
        {"pcap", KEY_PCAP, "FILE", 0, "Captures every frame as it comes in and as it leaves", 4},
        {"pcap-limit", KEY_PCAP_LIMIT, "MIB", 0, "Stops capturing at this size (default 256)", 4},
        {"stats", KEY_STATS, "FILE", 0, "Writes all counts there at the end, as JSON", 4},
        {0},
};

static double parse_probability(struct argp_state *state, const char *option, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0 && value <= 1))
		argp_error(state, "--%s %s: not a probability between 0 and 1", option, text);
	return value;
}

/* 0, or a millisecond at least. */
static double parse_seconds(struct argp_state *state, const char *option, const char *text,
                            unsigned most)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value == 0 || (value >= 1e-3 && value <= most)))
		argp_error(state, "--%s %s: not 0, nor a number of seconds from 0.001 to %u",
		           option, text, most);
	return value;
}

static uint64_t parse_number(struct argp_state *state, const char *option, const char *text,
                             uint64_t least, uint64_t most)
{
	char *end;

	errno = 0;
	unsigned long long value = strtoull(text, &end, 0);
	if (end == text || *end || errno || strchr(text, '-') || value < least || value > most)
		argp_error(state, "--%s %s: not a whole number from %" PRIu64 " to %" PRIu64,
		           option, text, least, most);
	return value;
}

static void parse_port(struct argp_state *state, struct options *options, const char *text)
{
	unsigned *count = &options->bridge.ports;

	if (strncmp(text, "fd=", 3) != 0)
		argp_error(state, "--port %s: must be fd=N, N the number of an open socket", text);
	if (*count == BRIDGE_PORTS_MAX)
		argp_error(state, "--port %s: more than %d ports", text, BRIDGE_PORTS_MAX);
	int fd = (int)parse_number(state, "port", text + 3, 0, INT32_MAX);
	for (unsigned i = 0; i < *count; i++)
		if (options->port_fds[i] == fd)
			argp_error(state, "--port %s: given twice", text);
	options->port_fds[(*count)++] = fd;
}

/* Whether there is virtual time is known at the end only. */
static void check_ports(struct argp_state *state, struct options *options)
{
	const bool is_virtual = options->virtual_time.time.clock_fd >= 0;
	char reason[160];

	for (unsigned i = 0; i < options->bridge.ports; i++)
		if (!port_is_usable(options->port_fds[i], is_virtual, reason, sizeof(reason)))
			argp_error(state, "--port fd=%d: %s", options->port_fds[i], reason);
	if (options->bridge.ports < 2)
		argp_error(state, "a switch needs two ports or more: --port fd=N twice");
	if (is_virtual &&
	    !port_is_usable(options->virtual_time.time.clock_fd, true, reason, sizeof(reason)))
		argp_error(state, "--virtual-time: %s", reason);
	options->bridge.is_virtual = is_virtual;
	options->bridge.forwarding_ns = is_virtual ? options->virtual_time.switch_delay_ns : 0;
}

static unsigned parse_choice(struct argp_state *state, const char *option, const char *text,
                             const char *const *choices, unsigned count)
{
	unsigned choice = 0;

	while (choice < count && strcmp(text, choices[choice]) != 0)
		choice++;
	if (choice == count)
		argp_error(state, "--%s %s: unknown; --help lists what there is", option, text);
	return choice;
}

static void set_both(struct options *options, size_t fault_at, double value)
{
	for (unsigned side = 0; side < LINK_SIDES; side++)
		memcpy((char *)&options->bridge.faults[side] + fault_at, &value, sizeof(value));
}

static error_t parse_fault(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;
	struct link_faults *faults = options->bridge.faults;

	switch (key) {
	case KEY_LOSS_UP:
		faults[LINK_UP].loss = parse_probability(state, "loss-up", text);
		return 0;
	case KEY_LOSS_DOWN:
		faults[LINK_DOWN].loss = parse_probability(state, "loss-down", text);
		return 0;
	case KEY_DUPLICATE:
		set_both(options, offsetof(struct link_faults, duplicate),
		         parse_probability(state, "duplicate", text));
		return 0;
	case KEY_REORDER:
		set_both(options, offsetof(struct link_faults, reorder),
		         parse_probability(state, "reorder", text));
		return 0;
	case KEY_CORRUPT:
		set_both(options, offsetof(struct link_faults, corrupt),
		         parse_probability(state, "corrupt", text));
		return 0;
	case KEY_DELAY:
		faults[LINK_UP].delay_ns =
		        1000 * parse_number(state, "delay", text, 0, DELAY_MAX_US);
		faults[LINK_DOWN].delay_ns = faults[LINK_UP].delay_ns;
		return 0;
	case KEY_SEED:
		options->bridge.seed = parse_number(state, "seed", text, 0, UINT64_MAX);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	static const char *const aggregators[] = {"rtl", "model", "off"};
	static const char *const steerings[] = {"marked", "all"};
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->virtual_time;
		return 0;
	case KEY_PORT:
		parse_port(state, options, text);
		return 0;
	case KEY_AGGREGATOR:
		options->aggregator = parse_choice(state, "aggregator", text, aggregators, 3);
		return 0;
	case KEY_STEER:
		options->bridge.steering = parse_choice(state, "steer", text, steerings, 2);
		return 0;
	case KEY_JOB_TTL:
		options->bridge.job_ttl_ns =
		        (uint64_t)(1e9 * parse_seconds(state, "job-ttl", text, JOB_TTL_MAX_S));
		return 0;
	case KEY_RESET_EVERY:
		options->bridge.reset_every =
		        parse_number(state, "reset-every", text, 1, UINT64_MAX);
		return 0;
	case KEY_OFF_AFTER:
		options->bridge.off_after = parse_number(state, "off-after", text, 1, UINT64_MAX);
		return 0;
	case KEY_STUCK_AFTER:
		options->bridge.stuck_after =
		        parse_number(state, "stuck-after", text, 1, UINT64_MAX);
		return 0;
	case KEY_PCAP:
		options->pcap_path = text;
		return 0;
	case KEY_PCAP_LIMIT:
		options->pcap_limit_bytes =
		        parse_number(state, "pcap-limit", text, 1, PCAP_LIMIT_MAX_MIB) << 20;
		return 0;
	case KEY_STATS:
		options->stats_path = text;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s': not an option; ports are given with --port fd=N", text);
		return 0;
	case ARGP_KEY_END:
		check_ports(state, options);
		return 0;
	default:
		return parse_fault(key, text, state);
	}
}

void options_parse(struct options *options, int argc, char **argv)
{
	static const struct argp_child children[] = {{&virtual_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
	        .options = argp_options,
	        .parser = parse_option,
	        .children = children,
	        .doc = "An Ethernet switch between sockets, with an aggregator beside it.\v"
	               "Runs until SIGTERM or SIGINT, or until all hosts have closed their "
	               "sockets.",
	};

	*options = (struct options){
	        .bridge.seed = 1,
	        .bridge.job_ttl_ns = (uint64_t)JOB_TTL_DEFAULT_S * 1000000000,
	        .pcap_limit_bytes = (uint64_t)PCAP_LIMIT_DEFAULT_MIB << 20,
	};
	virtual_options_init(&options->virtual_time);
	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, options);
}
