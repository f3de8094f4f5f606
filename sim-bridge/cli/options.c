/* SPDX-License-Identifier: Apache-2.0 */
/* What ina-lab has too is read by common/bridge_options.c; argp does the rest. */
#include "options.h"

#include <argp.h>
#include <string.h>

#include "common/bridge_options.h"
#include "common/parse.h"
#include "sim-bridge/realtime/port.h"

_Static_assert((int)BRIDGE_OPTIONS_HOSTS_MAX == (int)BRIDGE_PORTS_MAX,
               "a host is behind each port");

enum { KEY_PORT = 0x100, KEY_VIRTUAL_TIME, KEY_START_DELAY, KEY_PROGRESS };

static const struct argp_option argp_options[] = {
        {"port", KEY_PORT, "fd=N", 0,
         "A port: an open Unix socket (SEQPACKET or DGRAM), one frame a datagram. Once for each "
         "host; the order gives the ports their numbers",
         1},
        {"virtual-time", KEY_VIRTUAL_TIME, "fd=N", 0,
         "Hosts have their clock from here: N is a listening socket for it, and each --port one "
         "for a vhost-user network device",
         6},
        {"start-delay", KEY_START_DELAY, "HOST:TIME", 0, "A host starts so much later", 7},
        {"progress", KEY_PROGRESS, "FILE", OPTION_ARG_OPTIONAL,
         "Prints every two seconds how far time has got, and the share of the work done, which is "
         "read from FILE",
         7},
        {0},
};

static int parse_fd(struct argp_state *state, const char *option, const char *text)
{
	uint64_t fd = 0;

	if (strncmp(text, "fd=", 3) || !ina_parse_whole(text + 3, 0, INT32_MAX, &fd))
		argp_error(state, "%s %s: must be fd=N, N the number of an open socket", option,
		           text);
	return (int)fd;
}

static void parse_port(struct argp_state *state, struct options *options, const char *text)
{
	unsigned *count = &options->bridge.ports;
	const int fd = parse_fd(state, "--port", text);

	if (*count == BRIDGE_PORTS_MAX)
		argp_error(state, "--port %s: more than %d ports", text, BRIDGE_PORTS_MAX);
	for (unsigned i = 0; i < *count; i++)
		if (options->port_fds[i] == fd)
			argp_error(state, "--port %s: given twice", text);
	options->port_fds[(*count)++] = fd;
}

/* Whether there is virtual time is known at the end only. */
static void check_ports(struct argp_state *state, struct options *options)
{
	const bool is_virtual = options->time.clock_fd >= 0;
	char reason[160];

	for (unsigned i = 0; i < options->bridge.ports; i++)
		if (!port_is_usable(options->port_fds[i], is_virtual, reason, sizeof(reason)))
			argp_error(state, "--port fd=%d: %s", options->port_fds[i], reason);
	if (options->bridge.ports < 2)
		argp_error(state, "a switch needs two ports or more: --port fd=N twice");
	if (is_virtual && !port_is_usable(options->time.clock_fd, true, reason, sizeof(reason)))
		argp_error(state, "--virtual-time: %s", reason);
	options->bridge.is_virtual = is_virtual;
	if (!is_virtual)
		options->bridge.forwarding_ns = 0;
}

/* An option that ina-lab has too. */
static void take_shared(void *context, struct argp_state *state, const struct bridge_option *option)
{
	struct options *options = context;
	struct bridge_config *bridge = &options->bridge;
	struct virtual_config *time = &options->time;
	struct virtual_faults *host = &time->faults[option->host];
	struct link_faults *up = &bridge->faults[LINK_UP], *down = &bridge->faults[LINK_DOWN];
	uint64_t *const whole[BRIDGE_OPTION_COUNT] = {
	        [BRIDGE_OPTION_AGGREGATOR] = &options->aggregator,
	        [BRIDGE_OPTION_JOB_TTL] = &bridge->job_ttl_ns,
	        [BRIDGE_OPTION_RESET_EVERY] = &bridge->reset_every,
	        [BRIDGE_OPTION_OFF_AFTER] = &bridge->off_after,
	        [BRIDGE_OPTION_STUCK_AFTER] = &bridge->stuck_after,
	        [BRIDGE_OPTION_SEED] = &bridge->seed,
	        [BRIDGE_OPTION_LINK_RATE] = &time->link_bits_per_second,
	        [BRIDGE_OPTION_LINK_DELAY] = &time->link_delay_ns,
	        [BRIDGE_OPTION_SWITCH_DELAY] = &bridge->forwarding_ns,
	        [BRIDGE_OPTION_RTL_CLOCK] = &time->rtl_clock_hz,
	        [BRIDGE_OPTION_QUEUE] = &time->queue_bytes,
	        [BRIDGE_OPTION_ECN_THRESHOLD] = &time->marking_bytes,
	        [BRIDGE_OPTION_KILL] = &host->kill_ns,
	        [BRIDGE_OPTION_CUT] = &host->cut_ns,
	};
	double *const real[BRIDGE_OPTION_COUNT] = {
	        [BRIDGE_OPTION_LOSS_UP] = &up->loss,
	        [BRIDGE_OPTION_LOSS_DOWN] = &down->loss,
	        [BRIDGE_OPTION_HOST_PACKET_COST] = &time->host_packet_ns,
	        [BRIDGE_OPTION_HOST_BYTE_COST] = &time->host_byte_ns,
	};

	if (whole[option->name])
		*whole[option->name] = option->whole;
	if (real[option->name])
		*real[option->name] = option->real;
	if (option->name == BRIDGE_OPTION_QUIET)
		bridge->quiet_ns = 1000000 * option->whole;
	if (option->name == BRIDGE_OPTION_STEER)
		bridge->steering = (enum bridge_steering)option->whole;
	if (option->name == BRIDGE_OPTION_DUPLICATE)
		up->duplicate = down->duplicate = option->real;
	if (option->name == BRIDGE_OPTION_REORDER)
		up->reorder = down->reorder = option->real;
	if (option->name == BRIDGE_OPTION_CORRUPT)
		up->corrupt = down->corrupt = option->real;
	if (option->name == BRIDGE_OPTION_DELAY)
		up->delay_ns = down->delay_ns = 1000 * option->whole;
	if (option->name == BRIDGE_OPTION_PCAP)
		options->pcap_path = option->text;
	if (option->name == BRIDGE_OPTION_PCAP_LIMIT)
		options->pcap_limit_bytes = option->whole << 20;
	if (option->name == BRIDGE_OPTION_STATS)
		options->stats_path = option->text;
	if (option->name == BRIDGE_OPTION_CUT)
		host->mend_ns = option->until;
	if (option->name == BRIDGE_OPTION_RESET_AT) {
		if (time->reset_count == VIRTUAL_RESETS_MAX)
			argp_error(state, "--reset-at %s: more than %d of them", option->text,
			           VIRTUAL_RESETS_MAX);
		time->resets_ns[time->reset_count++] = option->whole;
	}
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct bridge_options_input *input = state->input;
	struct options *options = input->context;
	struct bridge_option start;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = input;
		return 0;
	case KEY_PORT:
		parse_port(state, options, text);
		return 0;
	case KEY_VIRTUAL_TIME:
		options->time.clock_fd = parse_fd(state, "--virtual-time", text);
		return 0;
	case KEY_START_DELAY:
		bridge_options_read_host_time(state, "--start-delay", text, &start);
		options->time.faults[start.host].start_delay_ns = start.whole;
		return 0;
	case KEY_PROGRESS:
		options->time.shows_progress = true;
		options->time.share_path = text;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s': not an option; ports are given with --port fd=N", text);
		return 0;
	case ARGP_KEY_END:
		check_ports(state, options);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void options_parse(struct options *options, int argc, char **argv)
{
	static const struct argp_child children[] = {{&bridge_options_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
	        .options = argp_options,
	        .parser = parse_option,
	        .children = children,
	        .doc = "An Ethernet switch between sockets, with an aggregator beside it.\v"
	               "Runs until SIGTERM or SIGINT, or until all hosts have closed their "
	               "sockets.",
	};
	struct bridge_options_input input = {.take = take_shared, .context = options};

	*options = (struct options){
	        .bridge.seed = 1,
	        .bridge.job_ttl_ns = 60000000000,
	        .bridge.quiet_ns = 10000000,
	        .bridge.forwarding_ns = 300,
	        .pcap_limit_bytes = 256 << 20,
	        .time.clock_fd = -1,
	        .time.link_bits_per_second = 100000000000,
	        .time.link_delay_ns = 500,
	        .time.rtl_clock_hz = 250000000,
	        .time.queue_bytes = 2000000,
	};
	for (unsigned host = 0; host < BRIDGE_PORTS_MAX; host++)
		options->time.faults[host].kill_ns = options->time.faults[host].cut_ns =
		        GUEST_NEVER;
	argp_err_exit_status = BRIDGE_OPTIONS_EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &input);
}
