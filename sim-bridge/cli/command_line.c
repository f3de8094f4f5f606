/* SPDX-License-Identifier: Apache-2.0 */
/* common/bridge_options.c reads the options that ina-lab also has; argp reads the others. */
#include "command_line.h"

#include <argp.h>
#include <string.h>

#include "common/bridge_options.h"
#include "common/parse.h"
#include "common/topology/open.h"
#include "common/topology/settings.h"
#include "file_options.h"
#include "port_options.h"
#include "replay_options.h"

_Static_assert((int)BRIDGE_OPTIONS_HOSTS_MAX == (int)BRIDGE_PORTS_MAX,
               "a host is behind each port");

enum {
	KEY_PORT = 0x100,
	KEY_VIRTUAL_TIME,
	KEY_START_DELAY,
	KEY_PROGRESS,
	KEY_CHECK,
	KEY_CONTROL,
	KEY_CONTROL_MODE,
	KEY_METRICS,
	KEY_LOG
};

static const struct argp_option argp_options[] = {
        {"port", KEY_PORT, "PORT", 0,
         "A port: fd=N, an open Unix socket (SEQPACKET or DGRAM) with one frame per datagram; the "
         "name of a network interface, which needs CAP_NET_RAW; or tap:NAME, a TAP device that "
         "the bridge creates and removes. Give it once for each host; ports are numbered from 0 in "
         "this order",
         1},
        {"virtual-time", KEY_VIRTUAL_TIME, "fd=N", 0,
         "The bridge provides the hosts' clock: N is a listening socket for the clock, and each "
         "--port one for a vhost-user network device",
         6},
        {"check", KEY_CHECK, "HOSTS", 0,
         "Only checks whether a switch with this number of hosts can run with the other options: "
         "exit code 0, or 2 and one line. Takes no --port",
         1},
        {"control", KEY_CONTROL, "PATH", 0,
         "Listens on a Unix socket at PATH for ina-ctl, in real time only", 5},
        {"control-mode", KEY_CONTROL_MODE, "MODE", 0,
         "The permissions of that socket, as chmod takes them in octal. Default: 600", 5},
        {"metrics", KEY_METRICS, "[ADDRESS:]PORT", 0,
         "Serves the counters for Prometheus by HTTP, in real time only. Default address: "
         "127.0.0.1",
         5},
        {"log", KEY_LOG, NULL, 0,
         "Prints a line on stderr for each job that the model admits, refuses, breaks or ends. "
         "Always on if a port is a network interface",
         5},
        {"start-delay", KEY_START_DELAY, "HOST:TIME", 0, "Starts a host this much later", 7},
        {"progress", KEY_PROGRESS, "FILE", OPTION_ARG_OPTIONAL,
         "Prints the virtual time every two seconds, and the share of the work done, which is read "
         "from FILE",
         7},
        {0},
};

static void parse_check(struct argp_state *state, struct options *options, const char *text)
{
	uint64_t hosts = 0;

	if (!ina_parse_whole(text, 2, BRIDGE_PORTS_MAX, &hosts))
		argp_error(state, "--check takes a whole number from 2 to %d, not '%s'",
		           BRIDGE_PORTS_MAX, text);
	options->checked_hosts = (unsigned)hosts;
}

/* Refuses an option that names a host that does not exist. */
static void check_host(struct argp_state *state, const struct options *options, const char *option,
                       unsigned host)
{
	if (host >= options->port_count)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "%s names host %u, but the last of %u hosts is %u", option, host,
		             options->port_count, options->port_count - 1);
}

static void check_hosts(struct argp_state *state, const struct options *options)
{
	for (unsigned host = 0; host < BRIDGE_PORTS_MAX; host++) {
		if (options->time.faults[host].kill_ns != GUEST_NEVER)
			check_host(state, options, "--kill", host);
		if (options->time.faults[host].start_delay_ns > 0)
			check_host(state, options, "--start-delay", host);
		if (options->cuts[host].from_ns != CALENDAR_NEVER)
			check_host(state, options, "--cut", host);
	}
}

/* Checks each cable with all options that apply to it: --cut, --cut-at, --mend-at and --at. */
static void check_cuts(struct argp_state *state, const struct options *options)
{
	const struct topology *topology = options->fabric.topology;

	for (unsigned i = 0; i < topology->cable_count; i++) {
		const struct cable_config *cable = &options->fabric.cables[i];

		if (cable->mend_ns == CALENDAR_NEVER || cable->cut_ns < cable->mend_ns)
			continue;
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             cable->cut_ns == CALENDAR_NEVER
		                     ? "--mend-at: cable '%s' is never cut: give --cut-at too"
		                     : "cable '%s' would be mended before it is cut",
		             topology->cables[i].name);
	}
}

static void take_for_switch(struct bridge_config *of, const struct bridge_option *option)
{
	uint64_t *const whole[BRIDGE_OPTION_COUNT] = {
	        [BRIDGE_OPTION_AGGREGATOR] = &of->aggregator,
	        [BRIDGE_OPTION_STEER] = &of->steering,
	        [BRIDGE_OPTION_JOBS] = &of->jobs,
	        [BRIDGE_OPTION_MEMORY] = &of->memory_packets,
	        [BRIDGE_OPTION_WINDOW] = &of->window_packets,
	        [BRIDGE_OPTION_QUOTA] = &of->quota,
	        [BRIDGE_OPTION_VLAN_QUOTA] = &of->vlan_quota,
	        [BRIDGE_OPTION_JOB_TTL] = &of->job_ttl_ns,
	        [BRIDGE_OPTION_IDLE_TTL] = &of->idle_ttl_ns,
	        [BRIDGE_OPTION_RESET_EVERY] = &of->reset_every,
	        [BRIDGE_OPTION_OFF_AFTER] = &of->off_after,
	        [BRIDGE_OPTION_STUCK_AFTER] = &of->stuck_after,
	        [BRIDGE_OPTION_SWITCH_DELAY] = &of->forwarding_ns,
	        [BRIDGE_OPTION_RTL_CLOCK] = &of->rtl_clock_hz,
	};

	if (whole[option->name])
		*whole[option->name] = option->whole;
	if (option->name == BRIDGE_OPTION_QUIET)
		of->quiet_ns = 1000000 * option->whole;
	if (option->name == BRIDGE_OPTION_PATIENCE)
		of->patience_ns = 1000000 * option->whole;
}

static void take_for_cable(struct cable_config *of, const struct bridge_option *option)
{
	struct link_faults *up = &of->faults[LINK_UP], *down = &of->faults[LINK_DOWN];
	uint64_t *const whole[BRIDGE_OPTION_COUNT] = {
	        [BRIDGE_OPTION_LINK_RATE] = &of->bits_per_second,
	        [BRIDGE_OPTION_LINK_DELAY] = &of->delay_ns,
	        [BRIDGE_OPTION_QUEUE] = &of->queue_bytes,
	        [BRIDGE_OPTION_ECN_THRESHOLD] = &of->marking_bytes,
	        [BRIDGE_OPTION_PORT_PRIORITY] = &of->port_priority,
	        [BRIDGE_OPTION_TRUST_TAGS] = &of->trusts_tags,
	        [BRIDGE_OPTION_CUT_AT] = &of->cut_ns,
	        [BRIDGE_OPTION_MEND_AT] = &of->mend_ns,
	};

	if (whole[option->name])
		*whole[option->name] = option->whole;
	if (option->name == BRIDGE_OPTION_LOSS_UP)
		up->loss = option->real;
	if (option->name == BRIDGE_OPTION_LOSS_DOWN)
		down->loss = option->real;
	if (option->name == BRIDGE_OPTION_DUPLICATE)
		up->duplicate = down->duplicate = option->real;
	if (option->name == BRIDGE_OPTION_REORDER)
		up->reorder = down->reorder = option->real;
	if (option->name == BRIDGE_OPTION_CORRUPT)
		up->corrupt = down->corrupt = option->real;
	if (option->name == BRIDGE_OPTION_DELAY)
		up->delay_ns = down->delay_ns = 1000 * option->whole;
}

/* `number`: the switch's number, or TOPOLOGY_NONE for all switches. */
static void add_reset(struct argp_state *state, struct virtual_config *time,
                      const struct bridge_option *option, unsigned number)
{
	if (time->reset_count == VIRTUAL_RESETS_MAX)
		argp_error(state, "--reset-at %s: more than %d of them", option->text,
		           VIRTUAL_RESETS_MAX);
	time->resets[time->reset_count++] =
	        (struct virtual_reset){.at_ns = option->whole, .number = number};
}

static void add_named(struct argp_state *state, const struct bridge_option *option,
                      const char **list, unsigned *count)
{
	if (*count == OPTIONS_NAMED_MAX)
		argp_error(state, "%s %s: more than %d of them", option->dashed, option->text,
		           OPTIONS_NAMED_MAX);
	list[(*count)++] = option->text;
}

/* Takes an option that ina-lab also has (struct bridge_options_input). */
static void take_shared(void *context, struct argp_state *state, const struct bridge_option *option)
{
	struct options *options = context;
	struct virtual_config *time = &options->time;
	struct virtual_faults *host = &time->faults[option->host];

	if (options->is_replay)
		replay_options_admit(state, option);
	take_for_switch(&options->every_switch, option);
	take_for_cable(&options->every_cable, option);
	switch (option->name) {
	case BRIDGE_OPTION_SEED:
		options->fabric.seed = option->whole;
		break;
	case BRIDGE_OPTION_PCAP:
		options->pcap_path = option->text;
		break;
	case BRIDGE_OPTION_PCAP_LIMIT:
		options->pcap_limit_bytes = option->whole << 20;
		break;
	case BRIDGE_OPTION_PCAP_CABLE:
		add_named(state, option, options->pcap_cables, &options->pcap_cable_count);
		break;
	case BRIDGE_OPTION_STATS:
		options->stats_path = option->text;
		break;
	case BRIDGE_OPTION_TOPOLOGY:
		options->topology = option->text;
		break;
	case BRIDGE_OPTION_AT:
		add_named(state, option, options->settings, &options->setting_count);
		break;
	case BRIDGE_OPTION_HOST_PACKET_COST:
		time->host_packet_ns = option->real;
		break;
	case BRIDGE_OPTION_HOST_BYTE_COST:
		time->host_byte_ns = option->real;
		break;
	case BRIDGE_OPTION_KILL:
		host->kill_ns = option->whole;
		break;
	case BRIDGE_OPTION_CUT:
		options->cuts[option->host].from_ns = option->whole;
		options->cuts[option->host].until_ns = option->until;
		break;
	case BRIDGE_OPTION_RESET_AT:
		add_reset(state, time, option, TOPOLOGY_NONE);
		break;
	default:
		break;
	}
}

/*
 * Gives every switch and cable the values for all of them. In real time the times of cables and
 * switches are 0 here, so they are modelled only for switches and cables that an option names.
 */
static void spread(struct options *options)
{
	const struct topology *topology = options->fabric.topology;
	struct bridge_config of_switch = options->every_switch;
	struct cable_config of_cable = options->every_cable;

	if (!options->fabric.is_virtual) {
		of_switch.forwarding_ns = 0;
		of_cable.bits_per_second = of_cable.delay_ns = 0;
		of_cable.queue_bytes = of_cable.marking_bytes = 0;
	}
	for (unsigned i = 0; i < topology->switch_count; i++)
		options->fabric.bridges[i] = of_switch;
	for (unsigned i = 0; i < topology->cable_count; i++) {
		options->fabric.cables[i] = of_cable;
		if (topology->cables[i].has_host && options->cuts[i].from_ns != CALENDAR_NEVER) {
			options->fabric.cables[i].cut_ns = options->cuts[i].from_ns;
			options->fabric.cables[i].mend_ns = options->cuts[i].until_ns;
		}
	}
}

/* Exits with one line on stderr and no hint to --help, which does not describe fabrics. */
static void end(struct argp_state *state, const char *option, const char *error)
{
	argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0, "%s: %s", option, error);
}

static struct topology *make_topology(struct argp_state *state, struct options *options)
{
	char error[TOPOLOGY_ERROR_BYTES] = "out of memory";
	struct topology *topology = options->topology ? topology_open(options->topology, error)
	                                              : topology_open_single(options->port_count);

	if (!topology)
		end(state, "--topology", error);
	if (options->is_replay)
		options->port_count = topology->host_count;
	if (topology->host_count != options->port_count)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "--topology %s: it has %u hosts, but %u ports are given",
		             options->topology, topology->host_count, options->port_count);
	for (unsigned i = 0; i < options->setting_count; i++)
		if (!topology_set(topology, options->settings[i], error))
			end(state, "--at", error);
	return topology;
}

static void build_fabric(struct argp_state *state, struct options *options)
{
	struct topology *topology = make_topology(state, options);

	options->fabric.topology = topology;
	spread(options);
	for (unsigned i = 0; i < topology->setting_count; i++) {
		const struct topology_setting *setting = &topology->settings[i];

		if (options->is_replay)
			replay_options_admit(state, &setting->option);
		if (setting->is_of_cable)
			take_for_cable(&options->fabric.cables[setting->number], &setting->option);
		else if (setting->option.name == BRIDGE_OPTION_RESET_AT)
			add_reset(state, &options->time, &setting->option, setting->number);
		else
			take_for_switch(&options->fabric.bridges[setting->number],
			                &setting->option);
	}
}

static void take_control(struct argp_state *state, struct options *options, int key,
                         const char *text)
{
	if (key == KEY_CONTROL)
		options->control_path = text;
	if (key == KEY_CONTROL_MODE)
		options->control_mode = file_options_read_mode(state, text);
	if (key == KEY_METRICS)
		options->metrics_at = text;
	if (key == KEY_LOG)
		options->has_log = true;
}

/* The options that only ina-bridge has are about ports and hosts, and a replay has no hosts. */
static void refuse_in_replay(struct argp_state *state, int key)
{
	for (const struct argp_option *option = argp_options; option->name; option++)
		if (option->key == key)
			argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0, "--%s: not in a replay",
			             option->name);
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct bridge_options_input *input = state->input;
	struct options *options = input->context;
	struct bridge_option start;

	if (options->is_replay)
		refuse_in_replay(state, key);
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = input;
		return 0;
	case KEY_PORT:
		port_options_take(state, options, text);
		return 0;
	case KEY_VIRTUAL_TIME:
		options->time.clock_fd = port_options_read_fd(state, "--virtual-time", text, "");
		return 0;
	case KEY_START_DELAY:
		bridge_options_read_host_time(state, "--start-delay", text, &start);
		options->time.faults[start.host].start_delay_ns = start.whole;
		return 0;
	case KEY_CHECK:
		parse_check(state, options, text);
		return 0;
	case KEY_CONTROL:
	case KEY_CONTROL_MODE:
	case KEY_METRICS:
	case KEY_LOG:
		take_control(state, options, key, text);
		return 0;
	case KEY_PROGRESS:
		options->time.shows_progress = true;
		options->time.share_path = text;
		return 0;
	case ARGP_KEY_ARG:
		if (!options->is_replay)
			argp_error(state,
			           "'%s': not an option; ports are given with --port, and "
			           "replay must be the first word",
			           text);
		replay_options_take(state, options, text);
		return 0;
	case ARGP_KEY_END:
		if (options->checked_hosts && options->port_count)
			argp_error(state, "--check does not take --port");
		if (options->checked_hosts)
			options->port_count = options->checked_hosts;
		else if (options->is_replay)
			replay_options_open(state, options);
		else
			port_options_check(state, options);
		check_hosts(state, options);
		build_fabric(state, options);
		file_options_check(state, options);
		check_cuts(state, options);
		if (options->is_replay)
			replay_options_check(state, options);
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
	        .args_doc = "\nreplay IN OUT",
	        .doc = "Ethernet switches between sockets, network interfaces and TAP devices, "
	               "each with an aggregator.\v"
	               "Runs until SIGTERM or SIGINT, or until all hosts have closed their "
	               "sockets.\n\n" REPLAY_OPTIONS_HELP,
	};
	struct bridge_options_input input = {.take = take_shared, .context = options};

	*options = (struct options){
	        .control_mode = 0600,
	        .is_replay = argc > 1 && !strcmp(argv[1], "replay"),
	        .fabric.seed = 1,
	        .every_switch.rtl_clock_hz = 250000000,
	        .every_switch.job_ttl_ns = 60000000000,
	        .every_switch.idle_ttl_ns = BRIDGE_OPTIONS_IDLE_TTL_MS_DEFAULT * UINT64_C(1000000),
	        .every_switch.quiet_ns = 10000000,
	        .every_switch.patience_ns = BRIDGE_OPTIONS_PATIENCE_MS_DEFAULT * UINT64_C(1000000),
	        .every_switch.forwarding_ns = 300,
	        .every_cable.bits_per_second = 100000000000,
	        .every_cable.delay_ns = 500,
	        .every_cable.queue_bytes = 2000000,
	        .every_cable.cut_ns = CALENDAR_NEVER,
	        .every_cable.mend_ns = CALENDAR_NEVER,
	        .time.clock_fd = -1,
	};
	if (options->is_replay) {
		options->every_switch.quiet_ns = options->every_switch.forwarding_ns = 0;
		options->every_cable.bits_per_second = options->every_cable.delay_ns = 0;
	}
	for (unsigned host = 0; host < BRIDGE_PORTS_MAX; host++) {
		options->time.faults[host].kill_ns = GUEST_NEVER;
		options->cuts[host].from_ns = CALENDAR_NEVER;
	}
	argp_err_exit_status = BRIDGE_OPTIONS_EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &input);
}
