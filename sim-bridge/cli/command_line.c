/* SPDX-License-Identifier: Apache-2.0 */
/* common/bridge_options.c reads the options that ina-lab also has; argp reads the others. */
#define _GNU_SOURCE
#include "command_line.h"

#include <argp.h>
#include <argz.h>
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bridge_options.h"
#include "common/parse.h"
#include "fabric_options.h"
#include "file_options.h"
#include "port_options.h"
#include "replay_options.h"

_Static_assert((int)BRIDGE_OPTIONS_HOSTS_MAX == (int)BRIDGE_PORTS_MAX,
               "a host is behind each port");

/* Defaults, for set_defaults() and options_settings(). */
enum { JOB_TTL_S = 60, QUIET_MS = 10, SEED = 1 };

enum {
	KEY_PORT = 0x100,
	KEY_UPLINK,
	KEY_LEVEL,
	KEY_SWITCH_NUMBER,
	KEY_VIRTUAL_TIME,
	KEY_START_DELAY,
	KEY_PROGRESS,
	KEY_CHECK,
	KEY_CHECK_HOSTS,
	KEY_CONFIG,
	KEY_USER,
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
        {"uplink", KEY_UPLINK, "PORT", 0,
         "The port with this number leads up to a switch of another ina-bridge, and the switches "
         "of both sum together",
         2},
        {"level", KEY_LEVEL, "LEVEL", 0,
         "Level of the lowest switches here, from 1 to 3 (default 1): higher than every switch of "
         "other bridges whose uplinks lead here",
         2},
        {"switch-number", KEY_SWITCH_NUMBER, "N", 0,
         "Number of the first switch here; the others count on from it (default 0). All switches "
         "of all bridges of a fabric need different numbers",
         2},
        {"virtual-time", KEY_VIRTUAL_TIME, "fd=N", 0,
         "The bridge provides the hosts' clock: N is a listening socket for the clock, and each "
         "--port one for a vhost-user network device",
         6},
        {"config", KEY_CONFIG, "FILE", 0,
         "Takes options from a JSON object, such as {\"port\": [\"eth1\", \"eth2\"], \"quiet\": "
         "20}. Those of the command line win. SIGHUP reads it again",
         1},
        {"check", KEY_CHECK, "FILE", 0,
         "Only checks a file of --config, without opening ports, and prints the settings in "
         "effect: exit code 0, or 2 and one line",
         1},
        {"check-hosts", KEY_CHECK_HOSTS, "HOSTS", 0,
         "Only checks whether a switch with this number of hosts can run with the other options: "
         "exit code 0, or 2 and one line. Takes no --port",
         1},
        {"user", KEY_USER, "NAME", 0,
         "After its ports and files are open, runs as this user, with no capability but "
         "CAP_NET_RAW, which opens an interface that was removed and created again",
         5},
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

static void parse_check_hosts(struct argp_state *state, struct options *options, const char *text)
{
	uint64_t hosts = 0;

	if (!ina_parse_whole(text, 2, BRIDGE_PORTS_MAX, &hosts))
		argp_error(state, "--check-hosts takes a whole number from 2 to %d, not '%s'",
		           BRIDGE_PORTS_MAX, text);
	options->checked_hosts = (unsigned)hosts;
	options->only_checks = true;
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
	if (key == KEY_USER && !getpwnam(text))
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0, "--user %s: no such user", text);
	if (key == KEY_USER)
		options->user = text;
}

static uint64_t read_whole(struct argp_state *state, const char *option, const char *text,
                           uint64_t least, uint64_t most)
{
	uint64_t value = 0;

	if (!ina_parse_whole(text, least, most, &value))
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "%s takes a whole number from %" PRIu64 " to %" PRIu64 ", not '%s'",
		             option, least, most, text);
	return value;
}

/* The place among several bridges. Returns false for other options. */
static bool take_place(struct argp_state *state, struct options *options, int key, const char *text)
{
	switch (key) {
	case KEY_UPLINK:
		if (options->uplink != TOPOLOGY_NONE)
			argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
			             "--uplink %s: given twice: a bridge has one uplink at most",
			             text);
		options->uplink =
		        (unsigned)read_whole(state, "--uplink", text, 0, BRIDGE_PORTS_MAX - 1);
		return true;
	case KEY_LEVEL:
		options->level =
		        (unsigned)read_whole(state, "--level", text, 1, TOPOLOGY_LEVELS_MAX);
		return true;
	case KEY_SWITCH_NUMBER:
		options->first_number = (unsigned)read_whole(state, "--switch-number", text, 0,
		                                             OPTIONS_SWITCH_NUMBER_MAX);
		return true;
	default:
		return false;
	}
}

/* The other options that only ina-bridge has are about ports and hosts: a replay has no hosts. */
static void refuse_in_replay(struct argp_state *state, int key)
{
	for (const struct argp_option *option = argp_options; option->name; option++)
		if (option->key == key)
			argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0, "--%s: not in a replay",
			             option->name);
}

/* All options have been read. */
static void check_all(struct argp_state *state, struct options *options)
{
	if (options->checked_hosts && options->port_count)
		argp_error(state, "--check-hosts does not take --port");
	if (options->checked_hosts)
		options->port_count = options->checked_hosts;
	else if (options->is_replay)
		replay_options_open(state, options);
	else
		port_options_check(state, options);
	if (options->user && geteuid() != 0 && !options->only_checks && !options->is_reload)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "--user: only root can become another user: leave it out");
	check_hosts(state, options);
	fabric_options_build(state, options);
	file_options_check(state, options);
	check_cuts(state, options);
	if (options->is_replay)
		replay_options_check(state, options);
}

/* Keeps an option of the command line, by its name; if it is given again, all its values. */
static void remember(struct options *options, const char *name, const char *text)
{
	json_t *before = json_object_get(options->line, name);
	json_t *value = text ? json_string(text) : json_true();

	if (options->source != OPTIONS_OF_LINE_FIRST) {
		json_decref(value);
	} else if (json_is_array(before)) {
		json_array_append_new(before, value);
	} else if (before) {
		json_object_set_new(options->line, name, json_pack("[Oo]", before, value));
	} else {
		json_object_set_new(options->line, name, value);
	}
}

/* Takes an option that ina-lab also has (struct bridge_options_input). */
static void take_shared(void *context, struct argp_state *state, const struct bridge_option *option)
{
	remember(context, option->dashed + 2, option->text);
	fabric_options_take(state, context, option);
}

static void remember_key(struct options *options, int key, const char *text)
{
	for (const struct argp_option *option = argp_options; option->name; option++)
		if (option->key == key && !config_is_of_line(option->name))
			remember(options, option->name, text);
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct bridge_options_input *input = state->input;
	struct options *options = input->context;
	struct bridge_option start;

	remember_key(options, key, text);
	if (take_place(state, options, key, text))
		return 0;
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
		options->only_checks = true;
		options->config_path = text;
		return 0;
	case KEY_CONFIG:
		options->config_path = text;
		return 0;
	case KEY_CHECK_HOSTS:
		parse_check_hosts(state, options, text);
		return 0;
	case KEY_CONTROL:
	case KEY_CONTROL_MODE:
	case KEY_METRICS:
	case KEY_LOG:
	case KEY_USER:
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
		if (options->source == OPTIONS_OF_LINE)
			check_all(state, options);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The values of options that nobody gives, except those of virtual time. */
static void set_defaults(struct options *options)
{
	options->control_mode = 0600;
	options->fabric.seed = SEED;
	options->every_switch = (struct bridge_config){
	        .rtl_clock_hz = 250000000,
	        .job_ttl_ns = JOB_TTL_S * UINT64_C(1000000000),
	        .idle_ttl_ns = BRIDGE_OPTIONS_IDLE_TTL_MS_DEFAULT * UINT64_C(1000000),
	        .quiet_ns = options->is_replay ? 0 : QUIET_MS * UINT64_C(1000000),
	        .patience_ns = BRIDGE_OPTIONS_PATIENCE_MS_DEFAULT * UINT64_C(1000000),
	        .forwarding_ns = options->is_replay ? 0 : 300,
	};
	options->every_cable = (struct cable_config){
	        .bits_per_second = options->is_replay ? 0 : 100000000000,
	        .delay_ns = options->is_replay ? 0 : 500,
	        .queue_bytes = 2000000,
	        .cut_ns = CALENDAR_NEVER,
	        .mend_ns = CALENDAR_NEVER,
	};
	options->uplink = TOPOLOGY_NONE;
	options->level = 1;
	options->time.clock_fd = -1;
	for (unsigned host = 0; host < BRIDGE_PORTS_MAX; host++) {
		options->time.faults[host].kill_ns = GUEST_NEVER;
		options->cuts[host].from_ns = CALENDAR_NEVER;
	}
}

json_t *options_settings(const json_t *file, const json_t *line)
{
	json_t *settings = json_pack(
	        "{ss ss sf sf sf si si si si}", "aggregator", "rtl", "steer", "marked", "job-ttl",
	        (double)JOB_TTL_S, "idle-ttl", BRIDGE_OPTIONS_IDLE_TTL_MS_DEFAULT / 1000., "quiet",
	        (double)QUIET_MS, "patience", BRIDGE_OPTIONS_PATIENCE_MS_DEFAULT, "seed", SEED,
	        "jobs", BRIDGE_OPTIONS_JOBS_DEFAULT, "control-mode", 600);

	json_object_update(settings, (json_t *)file);
	json_object_update(settings, (json_t *)line);
	return settings;
}

static void read_words(struct options *options, enum options_source source, int argc, char **argv)
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

	options->source = source;
	argp_parse(&argp, argc, argv, 0, NULL, &input);
}

/* Reads the words that the file stands for. */
static void read_file(struct options *options, json_t *object)
{
	const struct argp_option *const tables[] = {argp_options, bridge_options_argp.options,
	                                            NULL};
	char error[512];

	object = object ? json_incref(object)
	                : config_read(options->config_path, error, sizeof(error));

	snprintf(options->source_name, sizeof(options->source_name), "ina-bridge: %s",
	         options->config_path);
	if (!object || !config_add_words(&options->words, object, options->line, tables, error,
	                                 sizeof(error))) {
		fprintf(stderr, "%s: %s\n", options->source_name, error);
		exit(BRIDGE_OPTIONS_EXIT_USAGE);
	}
	const size_t count = argz_count(options->words.text, options->words.bytes);
	char **argv = calloc(count + 2, sizeof(*argv));

	if (!argv) {
		fprintf(stderr, "%s: out of memory\n", options->source_name);
		exit(EXIT_FAILURE);
	}
	char *name = program_invocation_short_name;

	argz_extract(options->words.text, options->words.bytes, argv + 1);
	/* Errors begin with this, since argv[0] is NULL. */
	program_invocation_short_name = options->source_name;
	read_words(options, OPTIONS_OF_FILE, (int)count + 1, argv);
	program_invocation_short_name = name;
	free(argv);
	options->effective = options_settings(object, options->line);
	json_decref(object);
}

void options_parse(struct options *options, int argc, char **argv, json_t *file)
{
	argp_err_exit_status = BRIDGE_OPTIONS_EXIT_USAGE;
	*options = (struct options){
	        .is_reload = file != NULL,
	        .is_replay = argc > 1 && !strcmp(argv[1], "replay"),
	        .line = json_object(),
	};
	struct options start = *options;

	set_defaults(options);
	read_words(options, OPTIONS_OF_LINE_FIRST, argc, argv);
	start.config_path = options->config_path;
	start.only_checks = options->only_checks;
	*options = start;
	set_defaults(options);
	if (options->config_path)
		read_file(options, file);
	read_words(options, OPTIONS_OF_LINE, argc, argv);
}

void options_close(struct options *options)
{
	topology_close(options->fabric.topology);
	recording_close(options->recording);
	json_decref(options->line);
	json_decref(options->effective);
	free(options->words.text);
}
