/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the lab's own options; common/bridge_options.c reads those of the bridge. */
#include "run_options.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bridge_options.h"
#include "common/parse.h"
#include "common/topology/open.h"
#include "initramfs.h"
#include "parts.h"
#include "resources.h"

enum option_key {
	KEY_HOSTS = 'n',
	KEY_QUIET = 'q',
	KEY_MTU = 0x100,
	KEY_RANKS,
	KEY_DELAY_RANK,
	KEY_KERNEL,
	KEY_MEMORY,
	KEY_TIMEOUT,
	KEY_GRACE,
	KEY_VIRTUAL_TIME,
	KEY_CABLES,
};

static const struct argp_option option_table[] = {
        {"hosts", KEY_HOSTS, "N", 0,
         "Number of hosts, 1 to 256 (default: those of --topology); an aggregator has fewer ports, "
         "so the largest numbers need --aggregator off. --hosts qemu, besides the number, makes "
         "them "
         "QEMU machines with the newest kernel in /boot that has rdma_rxe",
         1},
        {"ranks-per-host", KEY_RANKS, "G[,G...]", 0,
         "Number of ranks on each host, each running one copy of COMMAND: one number for all "
         "hosts, or one per host (default 1)",
         1},
        {"mtu", KEY_MTU, "BYTES", 0, "RoCE path MTU: 256, 512, 1024, 2048 or 4096 (default)", 1},
        {"memory", KEY_MEMORY, "MIB", 0,
         "Memory of each host (default 512; for more than 16 hosts an equal share of 8192, at "
         "least 72)",
         1},
        {"kernel", KEY_KERNEL, "HOST:FILE", 0,
         "Boots this host with another kernel than INA_KERNEL; with a distribution's vmlinuz it is "
         "a QEMU machine; may be repeated",
         1},
        {"cables", KEY_CABLES, "socket|tap", 0,
         "The cables of hosts: sockets (default), or TAP devices of this machine in a network "
         "namespace of the bridge, so that frames cross the kernel as on a NIC; in real time only",
         1},
        {"delay-rank", KEY_DELAY_RANK, "R:SECONDS", 0,
         "Starts rank R's command this much later; may be repeated", 3},
        {"quiet", KEY_QUIET, NULL, 0, "Prints no summary at the end", 4},
        {"timeout", KEY_TIMEOUT, "SECONDS", 0, "Ends the run after this long (default 600)", 5},
        {"grace", KEY_GRACE, "SECONDS", 0,
         "How long the other ranks may continue after one has failed (default 30)", 5},
        {"virtual-time", KEY_VIRTUAL_TIME, NULL, 0,
         "Hosts and switch use a virtual clock, on which only the modelled parts take time, mainly "
         "the network",
         6},
        {0},
};

/* Reads `text` as a whole number from `least` to `most`. If it is not one, exits with a line that
 * names `what`. */
static int whole_number(const struct argp_state *state, const char *what, const char *text,
                        int least, int most)
{
	uint64_t value = 0;

	if (!ina_parse_whole(text, (uint64_t)least, (uint64_t)most, &value))
		argp_failure(state, LAB_EXIT_USAGE, 0,
		             "%s takes a whole number from %d to %d, not '%s'", what, least, most,
		             text);
	return (int)value;
}

/* Reads `text` as a number from `least` to `most`. If it is not one, exits with a line that names
 * `what`. */
static double number(const struct argp_state *state, const char *what, const char *text,
                     double least, double most)
{
	double value = 0;

	if (!ina_parse_real(text, least, most, &value))
		argp_failure(state, LAB_EXIT_USAGE, 0, "%s takes a number from %g to %g, not '%s'",
		             what, least, most, text);
	return value;
}

/* Reads R:SECONDS. The rank is checked later, when the number of hosts is known. */
static void parse_delay_rank(struct lab_options *options, const struct argp_state *state,
                             const char *text)
{
	uint64_t rank;
	const char *rest = ina_scan_whole(text, 0, LAB_MAX_HOSTS - 1, &rank);

	if (rest && *rest == ':')
		options->delay_s[rank] = number(state, "--delay-rank", rest + 1, 0, 86400);
	else
		argp_failure(state, LAB_EXIT_USAGE, 0,
		             "--delay-rank takes R:SECONDS with R up to %d, not '%s'",
		             LAB_MAX_HOSTS - 1, text);
}

/* Reads HOST:FILE. The host is checked later, when the number of hosts is known. */
static void parse_kernel(struct lab_options *options, const struct argp_state *state,
                         const char *text)
{
	uint64_t host;
	const char *rest = ina_scan_whole(text, 0, LAB_MAX_HOSTS - 1, &host);
	char *path;

	if (!rest || *rest != ':')
		argp_failure(state, LAB_EXIT_USAGE, 0,
		             "--kernel takes HOST:FILE with HOST up to %d, not '%s'",
		             LAB_MAX_HOSTS - 1, text);
	path = realpath(rest + 1, NULL); /* hosts start in other folders */
	if (!path || (access(path, X_OK) && !lab_initramfs_is_pc_kernel(path)))
		argp_failure(state, LAB_EXIT_USAGE, 0, "--kernel: %s is no program: %s", rest + 1,
		             strerror(errno));
	free(options->kernels[host]);
	options->kernels[host] = path;
}

/*
 * Sets each host's kernel and, by it, its kind. The kernel for hosts without one on the command
 * line may not exist.
 */
static void choose_kernels(struct lab_options *options, const struct argp_state *state)
{
	const struct lab_parts parts = lab_parts_find();
	const bool is_pc = lab_initramfs_is_pc_kernel(parts.kernel);
	char *by_default = options->prefers_qemu && !is_pc ? lab_initramfs_find_kernel()
	                                                   : strdup(parts.kernel);

	for (int h = 0; h < options->host_count; h++) {
		if (!options->kernels[h] && !by_default)
			argp_failure(state, LAB_EXIT_USAGE, 0,
			             "--hosts qemu: no kernel in /boot has rdma_rxe: run "
			             "scripts/install-packages.sh qemu, or set INA_KERNEL");
		if (!options->kernels[h])
			options->kernels[h] = strdup(by_default);
		options->is_qemu[h] = lab_initramfs_is_pc_kernel(options->kernels[h]);
		if (options->is_qemu[h] && options->is_virtual)
			argp_failure(state, LAB_EXIT_USAGE, 0,
			             "--virtual-time: host %d is a QEMU machine, which has real "
			             "time only",
			             h);
		if (options->is_qemu[h] && options->has_taps)
			argp_failure(state, LAB_EXIT_USAGE, 0,
			             "--cables tap: host %d is a QEMU machine, whose cable is a "
			             "socket",
			             h);
		if (options->is_qemu[h] && options->memory_mib < LAB_QEMU_MEMORY_LEAST_MIB)
			argp_failure(state, LAB_EXIT_USAGE, 0,
			             "host %d is a QEMU machine, which needs at least --memory %d",
			             h, LAB_QEMU_MEMORY_LEAST_MIB);
	}
	free(by_default);
}

/* Reads G or G,G,...; the count of numbers is checked later, when the number of hosts is known. */
static void parse_ranks(struct lab_options *options, const struct argp_state *state, char *text)
{
	int count = 0;

	for (char *next, *word = text; word; word = next, count++) {
		next = strchr(word, ',');
		if (next)
			*next++ = '\0';
		if (count == LAB_MAX_HOSTS)
			argp_failure(state, LAB_EXIT_USAGE, 0,
			             "--ranks-per-host takes at most %d numbers", LAB_MAX_HOSTS);
		options->rank_counts[count] =
		        whole_number(state, "--ranks-per-host", word, 1, LAB_MAX_RANKS);
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
		        "--ranks-per-host has %d numbers for %d hosts: give one, or one per host",
		        options->rank_count_given, options->host_count);
	for (int h = 0; h < options->host_count; h++)
		total += options->rank_counts[h];
	if (total > LAB_MAX_RANKS)
		argp_failure(state, LAB_EXIT_USAGE, 0,
		             "--ranks-per-host: %d ranks exceed the limit of %d", total,
		             LAB_MAX_RANKS);
}

/* Keeps an option for the bridge's command line. */
static void take_for_bridge(void *context, struct argp_state *state,
                            const struct bridge_option *option)
{
	struct lab_options *options = context;

	if (option->name == BRIDGE_OPTION_STATS) {
		options->stats_path = option->text;
		return;
	}
	if (option->name == BRIDGE_OPTION_AGGREGATOR)
		options->aggregator = option->text;
	if (option->name == BRIDGE_OPTION_TOPOLOGY)
		options->topology = option->text;
	if (option->name == BRIDGE_OPTION_SEED)
		options->seed = option->whole;
	if (option->is_virtual)
		options->virtual_option = option->dashed;
	if (options->bridge_argument_count == 2 * LAB_BRIDGE_OPTIONS)
		argp_failure(state, LAB_EXIT_USAGE, 0, "too many options for the bridge");
	options->bridge_arguments[options->bridge_argument_count++] = option->dashed;
	options->bridge_arguments[options->bridge_argument_count++] = option->text;
}

static void check_topology(struct lab_options *options, const struct argp_state *state)
{
	char error[TOPOLOGY_ERROR_BYTES] = "out of memory";
	struct topology *topology;

	if (options->topology)
		topology = topology_open(options->topology, error);
	else /* a switch has at least two ports */
		topology = topology_open_single(
		        options->host_count > 1 ? (unsigned)options->host_count : 2);
	if (!topology)
		argp_failure(state, LAB_EXIT_USAGE, 0, "%s", error);
	if (!options->host_count)
		options->host_count = (int)topology->host_count;
	if (options->topology && options->host_count != (int)topology->host_count)
		argp_failure(state, LAB_EXIT_USAGE, 0, "-n %d: --topology %s has %u hosts",
		             options->host_count, options->topology, topology->host_count);
	topology_close(topology);
}

static void check_together(struct lab_options *options, const struct argp_state *state)
{
	if (options->host_count || options->topology)
		check_topology(options, state);
	if (!options->host_count)
		argp_failure(state, LAB_EXIT_USAGE, 0,
		             "the number of hosts is missing: give it as in -n 4");
	if (!options->memory_mib)
		options->memory_mib = lab_resources_host_memory_mib(options->host_count);
	spread_ranks(options, state);
	choose_kernels(options, state);
	if (options->is_virtual && options->host_count < 2)
		argp_failure(state, LAB_EXIT_USAGE, 0, "--virtual-time needs at least two hosts");
	if (options->is_virtual && options->has_taps)
		argp_failure(state, LAB_EXIT_USAGE, 0,
		             "--cables tap: TAP devices have no virtual time: leave out "
		             "--virtual-time");
	if (!options->is_virtual && options->virtual_option)
		argp_failure(state, LAB_EXIT_USAGE, 0, "%s requires --virtual-time",
		             options->virtual_option);
	for (int r = options->host_count; r < LAB_MAX_HOSTS; r++)
		if (options->delay_s[r] > 0 || options->kernels[r])
			argp_failure(state, LAB_EXIT_USAGE, 0,
			             "%s %d, but the last of %d hosts is %d",
			             options->kernels[r] ? "--kernel names host"
			                                 : "--delay-rank names rank",
			             r, options->host_count, options->host_count - 1);
	if (!options->command)
		argp_failure(
		        state, LAB_EXIT_USAGE, 0,
		        "the command is missing: give it last, after --, as in: -- ibv_devinfo");
	/* env(1), which starts the command, would take such a name for a variable. */
	if (strchr(options->command[0], '='))
		argp_failure(state, LAB_EXIT_USAGE, 0,
		             "the command's name '%s' contains '='; to set a variable, put env "
		             "before it",
		             options->command[0]);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct bridge_options_input *input = state->input;
	struct lab_options *options = input->context;
	uint64_t mtu = 0;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = input;
		return 0;
	case KEY_VIRTUAL_TIME:
		options->is_virtual = true;
		return 0;
	case KEY_CABLES:
		options->has_taps = !strcmp(value, "tap");
		if (!options->has_taps && strcmp(value, "socket"))
			argp_failure(state, LAB_EXIT_USAGE, 0,
			             "--cables takes socket or tap, not '%s'", value);
		return 0;
	case KEY_HOSTS:
		options->prefers_qemu |= !strcmp(value, "qemu");
		if (!strcmp(value, "qemu"))
			return 0;
		options->host_count = whole_number(state, "-n", value, 1, LAB_MAX_HOSTS);
		return 0;
	case KEY_RANKS:
		parse_ranks(options, state, value);
		return 0;
	case KEY_MTU:
		if (!ina_parse_whole(value, 256, 4096, &mtu) || mtu & (mtu - 1))
			argp_failure(state, LAB_EXIT_USAGE, 0,
			             "--mtu takes one of 256, 512, 1024, 2048, 4096, not '%s'",
			             value);
		options->path_mtu_bytes = (int)mtu;
		return 0;
	case KEY_MEMORY:
		options->memory_mib = whole_number(state, "--memory", value, 64, 65536);
		return 0;
	case KEY_DELAY_RANK:
		parse_delay_rank(options, state, value);
		return 0;
	case KEY_KERNEL:
		parse_kernel(options, state, value);
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
	case ARGP_KEY_ARG: /* the first word that is not an option begins the command */
		options->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		check_together(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void lab_options_parse(struct lab_options *options, int argc, char **argv)
{
	static const struct argp_child children[] = {{&bridge_options_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
	        .options = option_table,
	        .parser = parse_option,
	        .children = children,
	        .args_doc = "-- COMMAND...",
	        .doc = "Boots N hosts around a switch with an aggregator and runs COMMAND on each, "
	               "with INA_RANK, INA_RANKS, INA_ROOT (rank 0's address), INA_COOKIE and "
	               "INA_BIND (the host's address) in its environment. Each line of a command's "
	               "output is printed with its rank in front. The exit code is the first that "
	               "was not 0."
	               "\vExit codes of ina-lab itself: 2 bad options, 124 the run timed out, 125 "
	               "a host or the bridge died, 130 or 143 interrupted.",
	};

	struct bridge_options_input input = {.take = take_for_bridge, .context = options};

	*options = (struct lab_options){.aggregator = "rtl",
	                                .path_mtu_bytes = 4096,
	                                .seed = 1,
	                                .timeout_s = 600,
	                                .grace_s = 30};
	argp_err_exit_status = LAB_EXIT_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &input);
}
